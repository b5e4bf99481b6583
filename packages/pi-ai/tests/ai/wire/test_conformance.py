from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import UNSET

from pi.ai.errors import ProviderUnavailable, RateLimited
from pi.ai.event_stream import EventStream
from pi.ai.events import Failed, TextDelta, ThinkingDelta, ToolCallDelta
from pi.ai.messages import AssistantMessage, Text, Thinking, ToolCall
from pi.ai.request import StreamOptions
from pi.base.records import replace
from tests.ai.http.splits import splits
from tests.ai.wire.conformance import (
    CASES,
    WIRES,
    Block,
    Case,
    Wire,
    recording,
    recordings,
)
from tests.ai.wire.exchanges import Outcome, exchange
from tests.ai.wire.replay_server import Replay, ReplayServer
from tests.sampling import sampled

IMPATIENT = StreamOptions(timeout_ms=50, transport="sse")
BEHAVIOURS = {
    "cut": pytest.mark.behaviour("stream-without-end-is-an-error"),
    "error_in_200": pytest.mark.behaviour("error-inside-a-200-stream"),
    "overflow": pytest.mark.behaviour("rate-limit-is-not-overflow"),
    "rate_limit": pytest.mark.behaviour("rate-limit-is-not-overflow"),
}

every_wire = pytest.mark.parametrize("api", WIRES)


def every_case(apis: Iterable[str], *, of_each: int = len(CASES)) -> pytest.MarkDecorator:
    """All cases that these wires can express; ``./test`` runs ``of_each`` of a wire.

    Each wire begins with another case, so that the samples of all of them have most cases.
    """
    chosen: list[Any] = []
    for number, api in enumerate(apis):
        offered = [name for name in CASES if name not in WIRES[api].not_offered]
        start = number * of_each % len(offered)
        cases = [
            pytest.param(api, name, marks=[BEHAVIOURS[name]] if name in BEHAVIOURS else [])
            for name in offered[start:] + offered[:start]
        ]
        chosen += sampled(cases, of_each)
    return pytest.mark.parametrize(("api", "name"), chosen)


ORIGINALS = {wire.recorded_as or api: api for api, wire in WIRES.items()}
"""One API for each set of recordings: variants have the same decoder."""


# What a recording comes to -----------------------------------------------------------------------


def check(outcome: Outcome, case: Case, wire: Wire) -> None:
    """The message, its cost and its failure are those of ``case``."""
    message, failure = outcome.message, outcome.failure
    assert message.stop_reason == case.stop, message.error_message
    assert comparable(message.content, case, wire) == expected_content(case, wire)
    assert usage_of(message, case) == expected_usage(case, wire)
    if case.error is None:
        assert failure is None
    else:
        assert isinstance(failure, case.error)
        assert failure.retryable is case.retryable
        assert message.error_message == failure.message
    if case.retry_after is not None:
        assert isinstance(failure, RateLimited)
        assert failure.retry_after == case.retry_after


def comparable(content: tuple[Block, ...], case: Case, wire: Wire) -> tuple[Block, ...]:
    """``content`` without wire-specific parts: text signatures and ids of parallel calls."""
    ids = [block.id for block in content if isinstance(block, ToolCall)]
    assert all(ids)
    assert len(set(ids)) == len(ids)
    return tuple(_comparable(block, case, wire) for block in content)


def _comparable(block: Block, case: Case, wire: Wire) -> Block:
    match block:
        case Text():
            return Text(text=block.text)
        case Thinking(redacted=True):
            return Thinking(thinking="", redacted=True)
        case Thinking():
            return block if wire.signature is not None else Thinking(thinking=block.thinking)
        case ToolCall():
            known = case.name == "tool_call"
            return ToolCall(
                id=block.id if known else "", name=block.name, arguments=block.arguments
            )


def expected_content(case: Case, wire: Wire) -> tuple[Block, ...]:
    content: list[Block] = []
    for block in case.content:
        if isinstance(block, Thinking) and not block.redacted:
            content.append(replace(block, thinking_signature=wire.signature or UNSET))
        elif isinstance(block, ToolCall) and block.id:
            content.append(replace(block, id=wire.call_id))
        else:
            content.append(block)
    return tuple(content)


COUNTS = ("input", "output", "reasoning", "cache_read", "cache_write")


def usage_of(message: AssistantMessage, case: Case) -> dict[str, object]:
    return {
        name: getattr(message.usage, name) for name in COUNTS if getattr(case, name) is not None
    }


def expected_usage(case: Case, wire: Wire) -> dict[str, object]:
    expected = {name: getattr(case, name) for name in COUNTS if getattr(case, name) is not None}
    if "reasoning" in expected and not wire.reports_reasoning:
        expected["reasoning"] = 0
    if "cache_write" in expected and not wire.reports_cache_writes:
        expected["cache_write"] = 0
    return expected


@every_case(WIRES)
async def test_a_recording_is_decoded(api: str, name: str) -> None:
    wire, case = WIRES[api], WIRES[api].case(name)

    outcome = await exchange(api, Replay([recording(api, name)]))

    check(outcome, case, wire)
    deltas = (TextDelta, ThinkingDelta, ToolCallDelta)
    assert sum(isinstance(event, deltas) for event in outcome.events) >= case.deltas


@pytest.mark.slow
@every_case(ORIGINALS.values(), of_each=3)
async def test_a_recording_is_decoded_byte_by_byte(api: str, name: str) -> None:
    wire, raw = WIRES[api], recording(api, name)

    outcome = await exchange(api, Replay([raw[at : at + 1] for at in range(len(raw))]))

    check(outcome, wire.case(name), wire)


@pytest.mark.slow
@every_case(WIRES, of_each=6)
@settings(max_examples=4, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
async def test_a_recording_split_anywhere_is_decoded(
    api: str, name: str, data: st.DataObject
) -> None:
    wire, pieces = WIRES[api], data.draw(splits(recording(api, name)))

    outcome = await exchange(api, Replay(pieces))

    check(outcome, wire.case(name), wire)


@every_wire
async def test_arguments_are_streamed_where_the_protocol_streams_them(api: str) -> None:
    if "tool_call" in WIRES[api].not_offered:
        pytest.skip(WIRES[api].not_offered["tool_call"])

    outcome = await exchange(api, Replay([recording(api, "tool_call")]))

    pieces = sum(isinstance(event, ToolCallDelta) for event in outcome.events)
    assert pieces >= (3 if WIRES[api].streams_arguments else 1)


# What a connection does --------------------------------------------------------------------------


@pytest.mark.behaviour("terminal-event-ends-the-stream")
@every_wire
async def test_a_finished_answer_does_not_wait_for_the_server_to_hang_up(api: str) -> None:
    outcome = await exchange(api, Replay([recording(api, "text")], then="hold"))

    check(outcome, WIRES[api].case("text"), WIRES[api])


@every_wire
async def test_a_slow_first_byte_is_waited_for(api: str) -> None:
    gate = asyncio.Event()

    async def open_gate(server: ReplayServer, stream: EventStream) -> None:
        await server.received.wait()
        assert stream.partial.content == ()
        gate.set()

    replay = Replay([recording(api, "text")], gate=gate)
    outcome = await exchange(api, replay, meanwhile=open_gate)

    check(outcome, WIRES[api].case("text"), WIRES[api])


@every_wire
async def test_a_server_that_never_answers_times_out_as_the_caller_requests(api: str) -> None:
    outcome = await exchange(api, Replay([], then="hold"), options=IMPATIENT)

    assert outcome.events == (Failed(reason="error", error=outcome.message),)
    assert type(outcome.failure) is ProviderUnavailable


@every_wire
async def test_a_server_that_falls_silent_times_out_as_the_caller_requests(api: str) -> None:
    replay = Replay([recording(api, "cut")], then="hold")

    outcome = await exchange(api, replay, options=IMPATIENT)

    assert outcome.message.text == "part"
    assert type(outcome.failure) is ProviderUnavailable


@every_wire
async def test_a_connection_reset_keeps_the_partial_answer(api: str) -> None:
    outcome = await exchange(api, Replay([recording(api, "cut")], then="reset"))

    assert outcome.message.text == "part"
    assert outcome.failure is not None
    assert outcome.failure.retryable


@every_wire
async def test_aborting_keeps_the_partial_answer_and_closes_the_connection(api: str) -> None:
    replay = Replay([recording(api, "cut")], then="hold")

    outcome = await exchange(api, replay, on_text=EventStream.abort)

    assert outcome.message.stop_reason == "aborted"
    assert outcome.message.error_message == "Request was aborted"
    assert outcome.message.text == "part"
    assert outcome.failure is None


@every_wire
async def test_an_abort_before_the_first_byte_is_the_only_event(api: str) -> None:
    async def abort(server: ReplayServer, stream: EventStream) -> None:
        await server.received.wait()
        stream.abort()

    outcome = await exchange(api, Replay([], then="hold"), meanwhile=abort)

    assert outcome.events == (Failed(reason="aborted", error=outcome.message),)
    assert outcome.message.content == ()


# The table ---------------------------------------------------------------------------------------


@every_wire
def test_every_recording_belongs_to_a_case_of_its_wire(api: str) -> None:
    recorded = {path.stem for path in recordings(api).iterdir()}

    assert recorded == CASES.keys() - WIRES[api].not_offered.keys()

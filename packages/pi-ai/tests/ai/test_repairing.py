from __future__ import annotations

import threading
from collections.abc import Sequence

import pytest

from pi.ai.builder import MessageBuilder
from pi.ai.errors import BadRequest
from pi.ai.messages import Json, UserMessage
from pi.ai.models.model import Model
from pi.ai.request import Call, StreamOptions
from pi.ai.wire_support.repairs import (
    MAX_DROPPED_TOOLS,
    NO_REPAIRS,
    Repairs,
    repair_note,
    send_with_repairs,
)
from pi.base.tasks import LARGE
from pi.base.testing import FakeClock

MODEL = Model(id="m", name="M", api="a", provider="p")
REFUSAL = BadRequest("400: no", status=400)
THINKING = Repairs(thinking=True)
STRICT = Repairs(strict=True)


class RefusedRequest:
    """A request that is rejected once for each of ``repairs``; records the sent payloads."""

    def __init__(self, *repairs: Repairs | None) -> None:
        self.builder = MessageBuilder(MODEL, now_ms=0)
        self.delivered: list[Json] = []
        self._repairs: Sequence[Repairs | None] = repairs

    async def ask(self) -> None:
        await send_with_repairs(
            Call(model=MODEL, messages=(), options=StreamOptions(on_payload=self._agree)),
            self.builder,
            FakeClock(now_ms=7),
            encode=lambda repairs: {"without": repairs},
            deliver=self._deliver,
            next_repair=self._next_repair,
        )

    async def _agree(self, payload: Json, _: Model) -> Json:
        return {**payload, "agreed": True}

    async def _deliver(self, payload: Json) -> None:
        self.delivered.append(payload)
        if len(self.delivered) <= len(self._repairs):
            raise REFUSAL

    def _next_repair(self, refusal: BadRequest, payload: Json) -> Repairs | None:
        assert (refusal, payload) == (REFUSAL, self.delivered[-1])
        return self._repairs[len(self.delivered) - 1]


async def test_an_accepted_request_is_sent_once() -> None:
    request = RefusedRequest()

    await request.ask()

    assert request.delivered == [{"without": NO_REPAIRS, "agreed": True}]
    assert request.builder.diagnostics == []


async def test_every_repaired_request_is_passed_to_the_hook_sent_and_recorded() -> None:
    request = RefusedRequest(THINKING, STRICT)

    await request.ask()

    assert request.delivered == [
        {"without": NO_REPAIRS, "agreed": True},
        {"without": THINKING, "agreed": True},
        {"without": THINKING | STRICT, "agreed": True},
    ]
    assert request.builder.diagnostics == [
        repair_note(THINKING, REFUSAL, 7),
        repair_note(STRICT, REFUSAL, 7),
    ]


@pytest.mark.parametrize("second", [None, THINKING], ids=["no repair", "the same repair"])
async def test_a_rejection_without_a_new_repair_is_raised(second: Repairs | None) -> None:
    request = RefusedRequest(THINKING, second)

    with pytest.raises(BadRequest):
        await request.ask()

    assert len(request.delivered) == 2


async def test_the_number_of_dropped_tools_is_limited() -> None:
    request = RefusedRequest(*(Repairs(tools=frozenset({name})) for name in "abcdef"))

    with pytest.raises(BadRequest):
        await request.ask()

    assert [len(payload["without"].tools) for payload in request.delivered] == [
        *range(MAX_DROPPED_TOOLS + 1)
    ]


async def test_a_request_is_not_repaired_once_part_of_the_answer_has_arrived() -> None:
    request = RefusedRequest(THINKING)
    request.builder.text("block", "part")

    with pytest.raises(BadRequest):
        await request.ask()

    assert len(request.delivered) == 1
    assert request.builder.diagnostics == []


async def test_a_long_conversation_is_encoded_outside_of_the_event_loop() -> None:
    threads: list[threading.Thread] = []

    def encode(repairs: Repairs) -> Json:
        threads.append(threading.current_thread())
        return {}

    async def deliver(payload: Json) -> None: ...

    for count in (1, LARGE + 1):
        messages = (UserMessage(content="x"),) * count
        await send_with_repairs(
            Call(model=MODEL, messages=messages, options=StreamOptions()),
            MessageBuilder(MODEL, now_ms=0),
            FakeClock(now_ms=7),
            encode=encode,
            deliver=deliver,
            next_repair=lambda refusal, payload: None,
        )

    assert threads[0] is threading.main_thread()
    assert threads[1] is not threading.main_thread()

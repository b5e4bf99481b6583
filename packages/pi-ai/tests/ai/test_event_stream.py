from __future__ import annotations

import asyncio

import pytest

from pi.ai.builder import MessageBuilder
from pi.ai.errors import RateLimited
from pi.ai.event_stream import Answer, EventStream, Flush
from pi.ai.events import Done, Failed, Start, TextDelta, TextEnd, TextStart
from pi.ai.messages import Text, Usage
from pi.ai.models.model import Model

MODEL = Model(id="m", name="M", api="a", provider="p")


def stream(answer: Answer) -> EventStream:
    return EventStream(MessageBuilder(MODEL, now_ms=0), answer)


async def hello(builder: MessageBuilder, flush: Flush) -> None:
    builder.start()
    builder.text(0, "hel")
    flush()
    await asyncio.sleep(0)
    builder.text(0, "lo")
    builder.finish("stop")


async def silence(builder: MessageBuilder, flush: Flush) -> None:
    builder.start()
    builder.text(0, "part")
    flush()
    await asyncio.Event().wait()


async def test_events_are_emitted_in_order_and_end_with_one_terminal_event() -> None:
    answering = stream(hello)

    events = [event async for event in answering]

    assert events == [
        Start(),
        TextStart(content_index=0),
        TextDelta(content_index=0, delta="hel"),
        TextDelta(content_index=0, delta="lo"),
        TextEnd(content_index=0, content="hello"),
        Done(reason="stop", message=await answering.result()),
    ]


async def test_the_usage_is_updated_while_events_arrive() -> None:
    async def counting(builder: MessageBuilder, flush: Flush) -> None:
        builder.start()
        for output in (1, 2):
            builder.text(0, "word")
            builder.usage = Usage(input=3, output=output)
            flush()
            await asyncio.sleep(0)
        builder.finish("stop")

    answering = stream(counting)
    before = answering.usage

    totals = [answering.usage.total_tokens async for _ in answering]

    assert before == Usage()
    assert totals == [4, 4, 4, 5, 5, 5]
    assert answering.usage is answering.usage


async def test_the_result_can_be_awaited_without_reading_events() -> None:
    message = await stream(hello).result()

    assert (message.text, message.stop_reason) == ("hello", "stop")


async def test_the_result_and_the_events_can_be_awaited_concurrently() -> None:
    answering = stream(hello)

    async with asyncio.TaskGroup() as group:
        result = group.create_task(answering.result())
        events = [event async for event in answering]

    assert isinstance(events[-1], Done)
    assert result.result() == events[-1].message


async def test_a_provider_error_is_the_last_event_and_is_kept_as_the_failure() -> None:
    async def limited(builder: MessageBuilder, flush: Flush) -> None:
        builder.text(0, "part")
        raise RateLimited("429: slow down", retry_after=3)

    answering = stream(limited)
    last = [event async for event in answering][-1]

    assert isinstance(last, Failed)
    assert (last.reason, last.error.content, last.error.error_message) == (
        "error",
        (Text(text="part"),),
        "429: slow down",
    )
    assert isinstance(answering.failure, RateLimited)
    assert answering.failure.retry_after == 3


async def test_an_internal_error_does_not_raise_out_of_a_stream(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def broken(builder: MessageBuilder, flush: Flush) -> None:
        raise KeyError("oops")

    message = await stream(broken).result()

    assert message.error_message == "pi could not read the answer: KeyError('oops')"
    assert "KeyError" in caplog.text


async def test_an_answer_without_a_terminal_event_is_an_error() -> None:
    async def stops(builder: MessageBuilder, flush: Flush) -> None:
        builder.text(0, "part")

    message = await stream(stops).result()

    assert (message.stop_reason, message.text) == ("error", "part")


async def test_aborting_ends_the_stream_and_keeps_the_partial_answer() -> None:
    answering = stream(silence)
    seen = []
    async with asyncio.timeout(30):
        async for event in answering:
            seen.append(event)
            if isinstance(event, TextDelta):
                answering.abort()

    assert isinstance(seen[-1], Failed)
    assert (seen[-1].reason, seen[-1].error.text) == ("aborted", "part")
    assert seen[-1].error.error_message == "Request was aborted"


async def test_a_stream_aborted_before_its_start_makes_no_request() -> None:
    async def never(builder: MessageBuilder, flush: Flush) -> None:
        raise AssertionError("the request was made")

    answering = stream(never)
    answering.abort()

    assert (await answering.result()).stop_reason == "aborted"


async def test_cancelling_the_consumer_ends_the_request_and_is_raised() -> None:
    answering = stream(silence)
    received = asyncio.Event()

    async def consume() -> None:
        async for event in answering:
            if isinstance(event, TextDelta):
                received.set()

    task = asyncio.create_task(consume())
    await received.wait()
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert (answering.partial.stop_reason, answering.partial.text) == ("aborted", "part")


async def test_closing_a_stream_early_waits_until_its_request_has_ended() -> None:
    ended = asyncio.Event()

    async def slow(builder: MessageBuilder, flush: Flush) -> None:
        try:
            await silence(builder, flush)
        finally:
            ended.set()

    answering = stream(slow)
    await anext(answering)

    await answering.aclose()

    assert ended.is_set()


async def test_a_stream_aborted_before_its_task_has_run_ends_as_aborted() -> None:
    answering = stream(silence)
    waiting = asyncio.create_task(answering.result())
    await asyncio.sleep(0)  # the task exists and has not run

    answering.abort()

    async with asyncio.timeout(30):
        assert (await waiting).stop_reason == "aborted"

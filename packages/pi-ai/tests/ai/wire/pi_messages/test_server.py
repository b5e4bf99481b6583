from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager

import msgspec
import pytest

from pi.ai.builder import MessageBuilder
from pi.ai.errors import BadRequest, ContextOverflow, ProviderError, RateLimited
from pi.ai.event_stream import Answer, EventStream, Flush
from pi.ai.events import (
    Done,
    Failed,
    Start,
    StreamEvent,
    TextDelta,
    TextEnd,
    TextStart,
    ThinkingEnd,
    ToolCallEnd,
    ToolCallStart,
)
from pi.ai.http.client import HttpClient
from pi.ai.messages import AssistantMessage, Cost, Json, Text, Thinking, ToolCall, Usage
from pi.ai.models.model import Model
from pi.ai.request import Call
from pi.ai.wire.pi_messages import answer
from pi.ai.wire.pi_messages.request import ProxyRequest, encode
from pi.ai.wire.pi_messages.server import (
    PROXY_CONTENT_TYPE,
    encode_event,
    proxy_messages,
    proxy_stream_options,
    read_proxy_request,
    serve_proxy,
)
from pi.ai.wire_support.exchange import Services
from pi.base.records import replace
from pi.base.testing import FakeClock
from tests.ai.http.raw_server import Peer, raw_server
from tests.ai.wire.grammar import check_events
from tests.ai.wire.pi_messages.conversation import HELLO, MODEL, TURN, call

CLAUDE = Model(id="claude", name="Claude", api="anthropic-messages", provider="anthropic")

# One event ---------------------------------------------------------------------------------------


def line(**fields: object) -> bytes:
    return b"data: " + msgspec.json.encode(fields) + b"\n\n"


SIGNED = Text(text="a", text_signature="t")
REDACTED = Thinking(thinking="", thinking_signature="s", redacted=True)
CALL = ToolCall(id="c", name="peek", arguments={"n": 1})
FINAL = AssistantMessage(
    content=(Text(text="long"),),
    usage=Usage(input=1, output=2, total_tokens=3),
    response_id="R",
    raw_stop_reason="end_turn",
)
USAGE = msgspec.to_builtins(FINAL.usage)


@pytest.mark.parametrize(
    ("event", "block", "expected"),
    [
        (Start(), None, line(type="start")),
        (
            TextDelta(content_index=0, delta="é"),
            None,
            line(type="text_delta", contentIndex=0, delta="é"),
        ),
        (TextEnd(content_index=0, content="a"), None, line(type="text_end", contentIndex=0)),
        (
            TextEnd(content_index=0, content="a"),
            SIGNED,
            line(type="text_end", contentIndex=0, contentSignature="t"),
        ),
        (
            ThinkingEnd(content_index=1, content=""),
            REDACTED,
            line(type="thinking_end", contentIndex=1, contentSignature="s", redacted=True),
        ),
        (
            ToolCallStart(content_index=2, id="c", tool_name="peek"),
            None,
            line(type="toolcall_start", contentIndex=2, id="c", toolName="peek"),
        ),
        (
            ToolCallEnd(content_index=2, tool_call=CALL),
            None,
            line(type="toolcall_end", contentIndex=2, toolCall=msgspec.to_builtins(CALL)),
        ),
        (
            Done(reason="stop", message=FINAL),
            None,
            line(type="done", reason="stop", usage=USAGE, responseId="R", rawStopReason="end_turn"),
        ),
        (
            Failed(reason="error", error=AssistantMessage(error_message="no")),
            None,
            line(
                type="error",
                reason="error",
                usage=msgspec.to_builtins(Usage()),
                errorMessage="no",
                retryAfter=7.0,
            ),
        ),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, msgspec.Struct) else "",
)
def test_an_event_is_one_line_without_earlier_content(
    event: StreamEvent, block: Text | Thinking | None, expected: bytes
) -> None:
    assert encode_event(event, block=block, retry_after=7.0) == expected


@pytest.mark.behaviour("lone-surrogates-are-cleaned")
def test_a_lone_surrogate_does_not_break_the_stream() -> None:
    assert encode_event(TextDelta(content_index=0, delta="a\ud83d")) == line(
        type="text_delta", contentIndex=0, delta="a"
    )


# A question --------------------------------------------------------------------------------------


def question(*, sent: Call) -> ProxyRequest:
    return read_proxy_request(msgspec.json.encode(encode(sent)))


def test_the_server_decodes_the_request_of_the_client() -> None:
    sent = call(*TURN, reasoning="low", thinking_budgets={"low": 5}, temperature=0.5)

    read = question(sent=sent)

    assert read.model == "balanced"
    assert read.context.messages == TURN
    assert proxy_stream_options(read.options) == sent.options


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"model":7}', b"\xff", b"[" * 5000])
def test_an_invalid_request_is_rejected(body: bytes) -> None:
    with pytest.raises(BadRequest, match="The request cannot be read") as refused:
        read_proxy_request(body)

    assert refused.value.status == 400


@pytest.mark.behaviour("foreign-thinking-is-dropped")
def test_answers_of_the_requested_model_are_attributed_to_the_target_model() -> None:
    foreign = AssistantMessage(content=(Text(text="t"),), api="a", provider="p", model="balanced")

    messages = proxy_messages(question(sent=call(*TURN, foreign)), CLAUDE)

    own = replace(TURN[2], api="anthropic-messages", provider="anthropic", model="claude")
    assert messages == (*TURN[:2], own, *TURN[3:], foreign)


# Over the network --------------------------------------------------------------------------------


def upstream(answer: Answer) -> EventStream:
    """The server's own stream: the events of its model."""
    return EventStream(MessageBuilder(CLAUDE, now_ms=5), answer)


@asynccontextmanager
async def proxy(answers: Callable[[ProxyRequest], EventStream]) -> AsyncIterator[str]:
    """A server that answers requests with streams; yields its base URL."""

    async def script(peer: Peer) -> None:
        _, _, body = (await peer.request()).partition(b"\r\n\r\n")
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {PROXY_CONTENT_TYPE}\r\n"
        await peer.send(f"{head}Connection: close\r\n\r\n".encode())
        gone = asyncio.create_task(peer.gone())
        async with aclosing(serve_proxy(answers(read_proxy_request(body)))) as pieces:
            sending = asyncio.create_task(_send(peer, pieces))
            await asyncio.wait({gone, sending}, return_when=asyncio.FIRST_COMPLETED)
            for task in (gone, sending):
                task.cancel()
            await asyncio.wait({gone, sending})
        await peer.hang_up()

    async with raw_server(script) as server:
        yield server.url.rstrip("/")


async def _send(peer: Peer, pieces: AsyncIterator[bytes]) -> None:
    async for piece in pieces:
        await peer.send(piece)


@asynccontextmanager
async def asking(url: str) -> AsyncIterator[EventStream]:
    """A client's stream."""
    clock = FakeClock()
    asked = call(HELLO, target=replace(MODEL, base_url=url))
    async with asyncio.timeout(20), HttpClient(environ={}) as client:
        services = Services(http=client, clock=clock, environ={})
        builder = MessageBuilder(asked.model, now_ms=clock.now_ms())

        def fill(builder: MessageBuilder, flush: Flush) -> Awaitable[None]:
            return answer(asked, builder, flush, services)

        async with aclosing(EventStream(builder, fill)) as stream:
            yield stream


def content_of(message: AssistantMessage) -> Json:
    """The fields that are equal on server and client."""
    return {
        name: getattr(message, name)
        for name in (
            "content",
            "usage",
            "stop_reason",
            "raw_stop_reason",
            "response_id",
            "error_message",
        )
    }


async def everything(builder: MessageBuilder, flush: Flush) -> None:
    """An answer with all kinds of blocks."""
    builder.start()
    builder.thinking("hidden", "").redacted = True
    builder.thinking("hidden", "").signature = "s"
    builder.thinking("open", "let me ")
    flush()
    builder.thinking("open", "think").signature = "t"
    builder.end("open")
    builder.text("text", "wörld ")
    builder.text("text", "👋").signature = "u"
    builder.tool_call("one", "a", "peek").thought_signature = "v"
    builder.tool_call("two", "b", "peek").arguments = {"path": "y"}
    builder.arguments("one", '{"path":')
    flush()
    builder.arguments("one", '"x"}')
    builder.response_id, builder.raw_stop_reason = "R", "tool_use"
    builder.usage = Usage(input=10, output=5, cache_read=3, reasoning=2, total_tokens=18)
    builder.finish("toolUse")


async def test_the_client_receives_the_same_answer_as_the_server() -> None:
    source = upstream(everything)

    async with proxy(lambda _: source) as url, asking(url) as stream:
        events = [event async for event in stream]

    message = await stream.result()
    assert check_events(events) == message
    assert content_of(message) == content_of(await source.result())
    assert (message.provider, message.model) == ("radius", "balanced")


async def test_the_client_uses_the_cost_reported_by_the_server() -> None:
    async def costly(builder: MessageBuilder, flush: Flush) -> None:
        builder.start()
        builder.usage, builder.charged = Usage(output=1), 0.25
        builder.finish("stop")

    async with proxy(lambda _: upstream(costly)) as url, asking(url) as stream:
        message = await stream.result()

    assert message.usage.cost == Cost(total=0.25, total_from_provider=True)


@pytest.mark.parametrize(
    "error",
    [
        RateLimited('429: {"message":"slow"}', status=429, retry_after=7),
        ContextOverflow('400: {"message":"prompt is too long"}', status=400),
    ],
    ids=["rate limit", "overflow"],
)
async def test_the_client_receives_the_same_failure_as_the_server(error: ProviderError) -> None:
    async def fails(builder: MessageBuilder, flush: Flush) -> None:
        builder.start()
        builder.text(0, "part")
        raise error

    async with proxy(lambda _: upstream(fails)) as url, asking(url) as stream:
        message = await stream.result()

    failure = stream.failure
    assert failure is not None
    assert type(failure) is type(error)
    assert (failure.message, failure.status) == (error.message, error.status)
    assert getattr(failure, "retry_after", None) == getattr(error, "retry_after", None)
    assert message.content == (Text(text="part"),)


async def test_a_client_that_disconnects_ends_the_upstream_request() -> None:
    ended = asyncio.Event()

    async def endless(builder: MessageBuilder, flush: Flush) -> None:
        builder.start()
        builder.text(0, "part")
        flush()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    source = upstream(endless)
    async with proxy(lambda _: source) as url:
        async with asking(url) as stream:
            events = [await anext(stream) for _ in range(3)]
        await asyncio.wait_for(ended.wait(), 20)

    assert events == [
        Start(),
        TextStart(content_index=0),
        TextDelta(content_index=0, delta="part"),
    ]
    assert (await source.result()).stop_reason == "aborted"
    assert (await stream.result()).stop_reason == "aborted"

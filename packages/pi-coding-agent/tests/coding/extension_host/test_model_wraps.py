from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

from pi.ai.errors import RateLimited
from pi.ai.event_stream import EventStream
from pi.ai.events import Done, Start, StreamEvent, TextDelta
from pi.ai.messages import Text, Thinking, ToolCall
from pi.ai.providers.faux import FAUX_MODEL, Reply, call, says
from pi.ai.request import Call, StreamOptions
from pi.base.records import replace
from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.extension_host.contributions.model_wraps import ModelRequest, stream_through
from pi.testing import ScriptedStream
from tests.coding.extension_host.extension_session import extension_session, noting

REQUEST = ModelRequest(model=FAUX_MODEL, messages=())


def through(wraps: list[Any], script: ScriptedStream) -> EventStream:
    from pi.ai.messages import Context

    return stream_through(
        wraps,
        REQUEST,
        lambda request: script(request.model, Context(messages=request.messages), StreamOptions()),
    )


async def plain(request: ModelRequest, ask: Any) -> AsyncIterator[StreamEvent]:
    async for event in ask(request):
        yield event


async def test_a_wrap_that_passes_events_on_changes_nothing() -> None:
    blocks = (
        Thinking(thinking="hm", thinking_signature="sig"),
        Text(text="a b"),
        call("ls", id="1", path="."),
    )
    bare = await ScriptedStream(Reply(blocks=blocks))(FAUX_MODEL, _empty()).result()

    wrapped = await through([plain, plain], ScriptedStream(Reply(blocks=blocks))).result()

    assert wrapped == bare
    assert isinstance(bare.content[2], ToolCall)


def _empty() -> Any:
    from pi.ai.messages import Context

    return Context()


async def test_a_provider_failure_keeps_its_type_through_a_wrap() -> None:
    stream = through([plain], ScriptedStream(RateLimited("busy", retry_after=3)))
    message = await stream.result()

    assert (message.stop_reason, message.error_message) == ("error", "busy")
    assert isinstance(stream.failure, RateLimited)


async def test_a_wrap_that_raises_or_ends_early_makes_the_answer_fail() -> None:
    async def broken(request: ModelRequest, ask: Any) -> AsyncIterator[StreamEvent]:
        yield Start()
        raise ValueError("broken")

    async def cut(request: ModelRequest, ask: Any) -> AsyncIterator[StreamEvent]:
        yield Start()

    failed = await through([broken], ScriptedStream()).result()
    ended = await through([cut], ScriptedStream()).result()

    assert "broken" in str(failed.error_message)
    assert ended.error_message == "A model wrap ended before the answer did."


async def test_an_abort_ends_the_request_inside_all_wraps() -> None:
    closed: list[str] = []

    async def watch(request: ModelRequest, ask: Any) -> AsyncIterator[StreamEvent]:
        try:
            async for event in ask(request):
                yield event
        finally:
            closed.append("wrap")

    async with aclosing(through([watch], ScriptedStream(says("one two three")))) as stream:
        async for event in stream:
            if isinstance(event, TextDelta):
                break
    message = await stream.result()
    await asyncio.sleep(0)

    assert (message.stop_reason, closed) == ("aborted", ["wrap"])


SECRET, MASK = "hunter2", "#S1#"


def masking(pi: ExtensionAPI) -> None:
    """A wrap as for secret masking: changes requests, restores answers."""

    async def mask(request: ModelRequest, ask: Any) -> AsyncIterator[StreamEvent]:
        masked = tuple(_replaced(message) for message in request.messages)
        held = ""
        async for event in ask(replace(request, messages=masked)):
            if isinstance(event, TextDelta):
                held += event.delta
                safe, held = _split(held.replace(MASK, SECRET))
                if safe:
                    yield TextDelta(content_index=event.content_index, delta=safe)
            elif isinstance(event, Done) or not held:
                yield event
            else:
                yield TextDelta(content_index=0, delta=held)
                held = ""
                yield event

    pi.wrap_model(mask, at="last")


def _replaced(message: Any) -> Any:
    content = getattr(message, "content", "")
    if not isinstance(content, tuple):
        return message
    changed = tuple(
        replace(part, text=part.text.replace(SECRET, MASK)) if isinstance(part, Text) else part
        for part in content
    )
    return replace(message, content=changed)


def _split(text: str) -> tuple[str, str]:
    """The text that can be shown, and a possible start of a placeholder."""
    for size in range(min(len(MASK) - 1, len(text)), 0, -1):
        if MASK.startswith(text[-size:]):
            return text[:-size], text[-size:]
    return text, ""


async def test_a_secret_is_never_sent_and_never_shown_masked(tmp_path: Path) -> None:
    def answer(call: Call) -> Reply:
        conversation = str(call.messages)
        assert SECRET not in conversation
        return says(f"your password is {MASK} indeed")

    async with extension_session(tmp_path, masking, steps=(answer,)) as hosted:
        first = await hosted.session.prompt(f"my password is {SECRET}")
        await hosted.session.prompt("what was it?")

    assert first is not None
    assert first.content == (Text(text=f"your password is {SECRET} indeed"),)
    deltas = "".join(
        event.assistant_message_event.delta
        for event in hosted.emitted("MessageUpdate")
        if isinstance(event.assistant_message_event, TextDelta)
    )
    assert MASK not in deltas


async def test_wraps_apply_to_requests_of_extensions_too(tmp_path: Path) -> None:
    purposes: list[str] = []

    def extension(pi: ExtensionAPI) -> None:
        pi.wrap_model(noting(purposes))
        pi.wrap_model(noting(purposes), purposes=frozenset({"summary"}))

        @pi.command("ask")
        async def ask(args: str, ctx: Any) -> None:
            answer = await pi.models.complete(args, system="Be brief.")
            await pi.send_message({"custom_type": "x", "content": answer.content[0].text})  # type: ignore[union-attr]

    async with extension_session(tmp_path, extension, steps=(says("4"), says("ok"))) as hosted:
        await hosted.session.prompt("/ask 2 + 2")
        await hosted.session.prompt("go")
        (first, *_) = hosted.session.messages

    assert purposes == ["extension", "turn"]
    assert first.content == "4"  # type: ignore[union-attr]

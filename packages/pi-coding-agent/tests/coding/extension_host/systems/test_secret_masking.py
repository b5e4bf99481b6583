"""Secret masking: requests are masked, answers are restored."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec

from pi.ai.providers.faux import calls, says
from pi.base.records import replace
from pi.extension import (
    Delta,
    ExtensionAPI,
    Message,
    ModelRequest,
    StreamEvent,
    SubSession,
    TextDelta,
    ToolCallDelta,
)
from tests.coding.extension_host.extension_session import extension_session

SECRET, MASK = "hunter2", "#S1#"


def masked(request: ModelRequest) -> ModelRequest:
    text = msgspec.json.encode(request.messages).decode().replace(SECRET, MASK)
    return replace(request, messages=msgspec.json.decode(text, type=tuple[Message, ...]))


class Restoring:
    """Puts the secret back; a mask may arrive in pieces."""

    def __init__(self) -> None:
        self._held: dict[int, Delta] = {}

    def take(self, event: StreamEvent) -> list[StreamEvent]:
        if isinstance(event, TextDelta | ToolCallDelta):
            return self._grown(event)
        held_back: list[StreamEvent] = [*self._held.values()]
        self._held.clear()
        text = msgspec.json.encode(event).decode().replace(MASK, SECRET)
        return [*held_back, msgspec.json.decode(text, type=type(event))]

    def _grown(self, event: TextDelta | ToolCallDelta) -> list[StreamEvent]:
        before = self._held.pop(event.content_index, None)
        text = ((before.delta if before else "") + event.delta).replace(MASK, SECRET)
        keep = next((size for size in range(len(MASK) - 1, 0, -1) if text.endswith(MASK[:size])), 0)
        if keep:
            self._held[event.content_index] = msgspec.structs.replace(event, delta=text[-keep:])
        ready = text[: len(text) - keep]
        return [msgspec.structs.replace(event, delta=ready)] if ready else []


def secrets(pi: ExtensionAPI) -> None:
    async def wrap(request: ModelRequest, ask: Any) -> AsyncIterator[StreamEvent]:
        restoring = Restoring()
        async for event in ask(masked(request)):
            for restored in restoring.take(event):
                yield restored

    pi.wrap_model(wrap, at="last")
    pi.add_redactor(lambda text, sink: text.replace(SECRET, "[secret]"))


async def test_only_the_model_sees_the_mask_instead_of_the_secret(tmp_path: Path) -> None:
    steps = (
        calls("bash", command=f"echo {MASK}; cat note"),
        says(f"It is {MASK[:2]} not {MASK} yes"),
        says("a summary"),
        says("nested"),
    )
    updates: list[str] = []
    apis: list[ExtensionAPI] = []

    def watching(pi: ExtensionAPI) -> None:
        apis.append(pi)

        @pi.on("message_update")
        def look(event: Any, ctx: Any) -> None:
            updates.append(str(event.assistant_message_event))

    settings = {"compaction": {"keepRecentTokens": 1}}
    async with extension_session(
        tmp_path, secrets, watching, steps=steps, settings=settings
    ) as hosted:
        (hosted.fixture.cwd / "note").write_text(SECRET)
        answer = await hosted.session.prompt(f"my password is {SECRET}")
        await hosted.session.compact()
        handle = await apis[0].sub_session(SubSession(prompt=f"is it {SECRET}?"))
        await handle.result()

        assert answer is not None
        assert answer.text == f"It is {MASK[:2]} not {SECRET} yes"
        requests = [str(request.messages) for request in hosted.fixture.provider.requests]
        assert len(requests) == 4
        assert not any(SECRET in text for text in requests)
        entries = [bytes(raw).decode() for raw in hosted.session.info.entries()]
        assert not any(MASK in text for text in entries)
        assert not any(MASK in text for text in updates)
        result = next(text for text in entries if '"toolResult"' in text)
        assert f"{SECRET}\\n{SECRET}" in result  # the command ran with the real value
        assert hosted.host.registries.redacted(SECRET, "export") == "[secret]"
        assert hosted.failures == []

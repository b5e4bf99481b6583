"""Sends the system prompt and long tool results of a request as pictures.

The stored conversation stays text. The same text becomes the same pictures, oldest first, so that
requests keep their prefix and the provider's cache stays valid.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from hashlib import sha256

from pi.batteries.snapcompact.font import NEW_LINE
from pi.batteries.snapcompact.frames import draw, paginate
from pi.batteries.snapcompact.history import Piece
from pi.batteries.snapcompact.shapes import AUTO, FrameShape, frame_budget, shape_for
from pi.extension import (
    UNSET,
    ExtensionAPI,
    Image,
    Message,
    ModelRequest,
    StreamEvent,
    SystemMessage,
    Text,
    ToolResultMessage,
    UserMessage,
    message_tokens,
    replace,
)

LEAST = 8_000
"""Characters below which a picture does not pay."""
MOST_PAGES = 3
"""Pictures of one text; a longer one stays text."""
MOST_CACHED = 64
IN_PICTURES = f"[This output is on the pictures that follow. {NEW_LINE} is a line break.]"
PROMPT_LEAD = f"Your instructions are on these pictures. {NEW_LINE} is a line break. Follow them."
PROMPT_STUB = "Your instructions are on the pictures of the first message."


class InlinePictures:
    """Prints texts of requests; remembers what it has printed."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi
        self._known: dict[bytes, tuple[Image, ...]] = {}

    async def wrap(
        self, request: ModelRequest, ask: Callable[[ModelRequest], AsyncIterator[StreamEvent]]
    ) -> AsyncIterator[StreamEvent]:
        """Print what the settings ask for, if the model sees pictures."""
        get = self._pi.settings.get
        if "image" in request.model.input:
            shape = shape_for(request.model, get("snapcompact.shape") or AUTO)
            left = frame_budget(request.model.provider) - _pictures(request.messages)
            messages = list(request.messages)
            if get("snapcompact.systemPrompt") is True:
                left -= await self._print_prompt(messages, shape, left)
            if get("snapcompact.toolResults") is True:
                await self._print_results(messages, shape, left)
            request = replace(request, messages=tuple(messages))
        async for event in ask(request):
            yield event

    async def _print_prompt(self, messages: list[Message], shape: FrameShape, left: int) -> int:
        first = messages[0] if messages else None
        if not isinstance(first, SystemMessage):
            return 0
        sections = first.sections if isinstance(first.sections, dict) else {}
        own = first.content if isinstance(first.content, str) else _joined(first.content)
        text = "\n\n".join(filter(None, (own, *sections.values())))
        frames = await self._frames(text, shape, left)
        if not frames:
            return 0
        messages[0] = replace(first, content=PROMPT_STUB, sections=UNSET)
        said = UserMessage(content=(Text(text=PROMPT_LEAD), *frames), timestamp=first.timestamp)
        messages.insert(1, said)
        return len(frames)

    async def _print_results(self, messages: list[Message], shape: FrameShape, left: int) -> None:
        for at, message in enumerate(messages):
            if not isinstance(message, ToolResultMessage) or _pictures((message,)):
                continue
            frames = await self._frames(message.text, shape, left)
            if frames:
                left -= len(frames)
                messages[at] = replace(message, content=(Text(text=IN_PICTURES), *frames))

    async def _frames(self, text: str, shape: FrameShape, left: int) -> tuple[Image, ...]:
        """Return the pictures of a text; none if they do not pay or do not fit."""
        if len(text) < LEAST or left < 1:
            return ()
        # Wraps that mask secrets come after this one and cannot read pixels.
        clean = self._pi.redact(text, "export")
        key = sha256(f"{shape.name} {shape.width} {clean}".encode("utf-8", "replace")).digest()
        if key not in self._known:
            if len(self._known) >= MOST_CACHED:
                self._known.pop(next(iter(self._known)))
            self._known[key] = await asyncio.to_thread(_printed, clean, shape)
        frames = self._known[key]
        if not frames or len(frames) > left:
            return ()
        pays = message_tokens(UserMessage(content=frames)) < len(text) // 4
        return frames if pays else ()


def _printed(text: str, shape: FrameShape) -> tuple[Image, ...]:
    dense = NEW_LINE.join(line.rstrip() for line in text.splitlines())
    printed = paginate([Piece(text=dense)], shape)
    if len(printed.pages) > MOST_PAGES or not printed.is_readable:
        return ()
    return tuple(draw(page, shape) for page in printed.pages)


def _pictures(messages: tuple[Message, ...]) -> int:
    return sum(
        isinstance(block, Image)
        for message in messages
        if isinstance(message, UserMessage | ToolResultMessage)
        and not isinstance(message.content, str)
        for block in message.content
    )


def _joined(texts: tuple[Text, ...]) -> str:
    return "\n\n".join(block.text for block in texts)

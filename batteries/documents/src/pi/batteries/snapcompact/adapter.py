"""The strategy ``snapcompact``: prints the discarded history on pictures, in a thread.

Settings print the system prompt and long tool results of a request, too. The stored conversation
stays text. Equal texts become equal pictures, oldest first, so that requests keep their prefix and
the provider's cache stays valid.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from hashlib import sha256
from typing import Any

from pi.ai.token_estimates import message_tokens
from pi.batteries.snapcompact.archive import (
    Earlier,
    content,
    earlier_archive,
    guide,
    limits,
    plan,
    preserved_data,
)
from pi.batteries.snapcompact.font import NEW_LINE
from pi.batteries.snapcompact.frames import draw, paginate
from pi.batteries.snapcompact.history import Piece, pieces
from pi.batteries.snapcompact.shapes import AUTO, FrameShape, frame_budget, shape_for
from pi.extension import (
    UNSET,
    CompactionResult,
    Declined,
    ExtensionAPI,
    Image,
    Message,
    ModelRequest,
    StreamEvent,
    SystemMessage,
    Text,
    ToolResultMessage,
    UserMessage,
    Work,
    replace,
)

LEAST = 8_000
"""Minimal length of a text to be printed; for shorter ones a picture does not save tokens."""
MOST_PAGES = 3
"""Maximum of pictures of one text; a longer one stays text."""
MOST_CACHED = 64
IN_PICTURES = f"[This output is on the pictures that follow. {NEW_LINE} is a line break.]"
PROMPT_LEAD = f"Your instructions are on these pictures. {NEW_LINE} is a line break. Follow them."
PROMPT_STUB = "Your instructions are on the pictures of the first message."


class InlinePictures:
    """Prints texts of requests; caches the pictures."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi
        self._known: dict[bytes, tuple[Image, ...]] = {}

    async def wrap(
        self, request: ModelRequest, ask: Callable[[ModelRequest], AsyncIterator[StreamEvent]]
    ) -> AsyncIterator[StreamEvent]:
        """Print the parts that the settings select, if the model supports images."""
        get = self._pi.settings.get
        if "image" in request.model.input:
            shape = shape_for(request.model, get("snapcompact.shape") or AUTO)
            budget = frame_budget(request.model.provider) - _pictures(request.messages)
            messages = list(request.messages)
            if get("snapcompact.systemPrompt") is True:
                budget -= await self._print_prompt(messages, shape, budget)
            if get("snapcompact.toolResults") is True:
                await self._print_results(messages, shape, budget)
            request = replace(request, messages=tuple(messages))
        async for event in ask(request):
            yield event

    async def _print_prompt(self, messages: list[Message], shape: FrameShape, budget: int) -> int:
        first = messages[0] if messages else None
        if not isinstance(first, SystemMessage):
            return 0
        sections = first.sections if isinstance(first.sections, dict) else {}
        own = first.content if isinstance(first.content, str) else _join_texts(first.content)
        text = "\n\n".join(filter(None, (own, *sections.values())))
        frames = await self._frames(text, shape, budget)
        if not frames:
            return 0
        messages[0] = replace(first, content=PROMPT_STUB, sections=UNSET)
        message = UserMessage(content=(Text(text=PROMPT_LEAD), *frames), timestamp=first.timestamp)
        messages.insert(1, message)
        return len(frames)

    async def _print_results(self, messages: list[Message], shape: FrameShape, budget: int) -> None:
        for index, message in enumerate(messages):
            if not isinstance(message, ToolResultMessage) or _pictures((message,)):
                continue
            frames = await self._frames(message.text, shape, budget)
            if frames:
                budget -= len(frames)
                messages[index] = replace(message, content=(Text(text=IN_PICTURES), *frames))

    async def _frames(self, text: str, shape: FrameShape, budget: int) -> tuple[Image, ...]:
        """Return the pictures of a text; none if they save no tokens or exceed ``budget``."""
        if len(text) < LEAST or budget < 1:
            return ()
        # Redacted here: wraps that mask secrets run later and cannot read pixels.
        clean = self._pi.redact(text, "export")
        key = sha256(f"{shape.name} {shape.width} {clean}".encode("utf-8", "replace")).digest()
        if key not in self._known:
            if len(self._known) >= MOST_CACHED:
                self._known.pop(next(iter(self._known)))
            self._known[key] = await asyncio.to_thread(_print_text, clean, shape)
        frames = self._known[key]
        if not frames or len(frames) > budget:
            return ()
        pays = message_tokens(UserMessage(content=frames)) < len(text) // 4
        return frames if pays else ()


def _print_text(text: str, shape: FrameShape) -> tuple[Image, ...]:
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


def _join_texts(texts: tuple[Text, ...]) -> str:
    return "\n\n".join(block.text for block in texts)


SETTINGS: tuple[tuple[str, Any, Any, str], ...] = (
    ("snapcompact.shape", str, AUTO, "form of the pictures; auto chooses it for the model"),
    ("snapcompact.systemPrompt", bool, False, "send the system prompt as pictures"),
    ("snapcompact.toolResults", bool, False, "send long tool results as pictures"),
)


def extension(pi: ExtensionAPI) -> None:
    """Register the compaction strategy and the model wrap."""
    pi.settings.declare_all(SETTINGS)
    pi.add_compaction("snapcompact", SnapStrategy(pi))
    pi.wrap_model(InlinePictures(pi).wrap, purposes=frozenset({"turn"}))


class SnapStrategy:
    """Archives the replaced part of the conversation as pictures, without a model request."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi

    async def compact(self, work: Work) -> CompactionResult | Declined:
        """Return the archive; ``Declined`` if pictures are impossible or take more tokens."""
        preparation = work.preparation
        if preparation is None:
            return Declined(why=work.why_not, code="nothing_to_compact")
        if why := self._unsuitable(work):
            return Declined(why=why)
        model = work.models[0]
        shape = shape_for(model, self._pi.settings.get("snapcompact.shape"))
        facts = work.kept_facts
        # Pixels cannot be masked later: secrets must not be printed.
        facts_text = self._pi.redact(facts.text, "export")
        earlier = earlier_archive(work.previous)
        archive_limits = limits(
            shape,
            budget=frame_budget(model.provider),
            threshold=work.threshold,
            facts_tokens=len(facts_text) // 4,
            earlier=earlier,
        )
        if archive_limits is None:
            return Declined(why=f"The window of {model.id} is too small for pictures.")
        printed = await asyncio.to_thread(paginate, self._pieces(work, earlier), shape)
        if not printed.is_readable:
            return Declined(why="The font of snapcompact lacks too many of these characters.")
        planned = plan(
            earlier.frames,
            printed.pages,
            budget=archive_limits.frames,
            tail_characters=archive_limits.tail_characters,
        )
        frames = [*planned.kept, *(await self._drawn(planned.printed, shape))]
        lead = guide(shape, len(frames), planned.faded)
        archive_content = content(lead, frames, planned.text_tail, facts_text)
        before, after = _tokens_before(work), message_tokens(UserMessage(content=archive_content))
        if after >= before:
            return Declined(why=f"The pictures would take {after} tokens instead of {before}.")
        texts = (lead, planned.text_tail, facts_text)
        return CompactionResult(
            summary="\n\n".join(filter(None, texts)),
            first_kept_id=preparation.first_kept_id,
            tokens_before=preparation.tokens_before,
            details=facts.details,
            content=archive_content,
            preserve_data=preserved_data(shape, len(frames), planned.text_tail),
        )

    def _unsuitable(self, work: Work) -> str:
        """Return why a text summary is needed; empty if pictures are possible."""
        if work.instructions:
            return "Instructions need a text summary."
        model = work.models[0]
        if "image" in model.input:
            return ""
        why = f"snapcompact needs a model that sees pictures; {model.id} does not."
        self._pi.warn(f"{why} A text summary is made instead.")
        return why

    def _pieces(self, work: Work, earlier: Earlier) -> list[Piece]:
        """Return the text to print, oldest first."""
        assert work.preparation is not None
        first: list[Piece] = []
        if earlier.summary:
            summary = self._redact(earlier.summary)
            first.append(Piece(text=f"[Summary of earlier history] {summary}"))
        if earlier.text_tail:
            first.append(Piece(text=earlier.text_tail))
        items = (*work.preparation.history, *work.preparation.turn_prefix)
        return [*first, *pieces(items, self._redact)]

    def _redact(self, text: str) -> str:
        return self._pi.redact(text, "export")

    async def _drawn(self, pages: Any, shape: FrameShape) -> list[Image]:
        """Print pages one by one, so that a cancelled compaction ends after the current one."""
        return [await asyncio.to_thread(draw, page, shape) for page in pages]


def _tokens_before(work: Work) -> int:
    """Return the tokens of the replaced part and the previous compaction."""
    preparation, previous = work.preparation, work.previous
    assert preparation is not None
    items = (*preparation.history, *preparation.turn_prefix)
    replaced = sum(item.tokens for item in items)
    if previous is None:
        return replaced
    summary = previous.summary if previous.content is UNSET else previous.content
    return replaced + message_tokens(UserMessage(content=summary))

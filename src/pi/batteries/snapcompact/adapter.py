"""The strategy ``snapcompact``: prints the discarded history on pictures, in a thread."""

from __future__ import annotations

import asyncio
from typing import Any

from pi.batteries.snapcompact.archive import (
    Earlier,
    content,
    earlier_archive,
    guide,
    limits,
    plan,
    preserved,
)
from pi.batteries.snapcompact.frames import draw, paginate
from pi.batteries.snapcompact.history import Piece, pieces
from pi.batteries.snapcompact.inline import InlinePictures
from pi.batteries.snapcompact.shapes import AUTO, FrameShape, frame_budget, shape_for
from pi.extension import (
    UNSET,
    CompactionResult,
    Declined,
    ExtensionAPI,
    Image,
    UserMessage,
    Work,
    message_tokens,
)

SETTINGS: tuple[tuple[str, Any, Any, str], ...] = (
    ("snapcompact.shape", str, AUTO, "form of the pictures; auto chooses it for the model"),
    ("snapcompact.systemPrompt", bool, False, "send the system prompt as pictures"),
    ("snapcompact.toolResults", bool, False, "send long tool results as pictures"),
)


def extension(pi: ExtensionAPI) -> None:
    """Add the strategy, and the pictures of requests, if they are on."""
    for name, kind, default, help in SETTINGS:
        pi.settings.declare(name, kind, default, help)
    pi.add_compaction("snapcompact", SnapStrategy(pi))
    pi.wrap_model(InlinePictures(pi).wrap, purposes=frozenset({"turn"}))


class SnapStrategy:
    """Archives the replaced part of the conversation as pictures. No model is asked."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi

    async def compact(self, work: Work) -> CompactionResult | Declined:
        """Return the archive; decline if a text summary is better."""
        preparation = work.preparation
        if preparation is None:
            return Declined(why=work.why_not, code="nothing_to_compact")
        if why := self._unsuitable(work):
            return Declined(why=why)
        model = work.models[0]
        shape = shape_for(model, self._pi.settings.get("snapcompact.shape"))
        facts = work.kept_facts
        # Pixels cannot be masked later: whatever is a secret must not be printed.
        facts_text = self._pi.redact(facts.text, "export")
        earlier = earlier_archive(work.previous)
        room = limits(
            shape,
            budget=frame_budget(model.provider),
            threshold=work.threshold,
            facts_tokens=len(facts_text) // 4,
            earlier=earlier,
        )
        if room is None:
            return Declined(why=f"The window of {model.id} is too small for pictures.")
        printed = await asyncio.to_thread(paginate, self._pieces(work, earlier), shape)
        if not printed.is_readable:
            return Declined(why="The font of snapcompact lacks too many of these characters.")
        planned = plan(
            earlier.frames,
            printed.pages,
            budget=room.frames,
            tail_characters=room.tail_characters,
        )
        frames = [*planned.kept, *(await self._drawn(planned.printed, shape))]
        lead = guide(shape, len(frames), planned.faded)
        shown = content(lead, frames, planned.text_tail, facts_text)
        before, after = _tokens_before(work), message_tokens(UserMessage(content=shown))
        if after >= before:
            return Declined(why=f"The pictures would take {after} tokens instead of {before}.")
        texts = (lead, planned.text_tail, facts_text)
        return CompactionResult(
            summary="\n\n".join(filter(None, texts)),
            first_kept_id=preparation.first_kept_id,
            tokens_before=preparation.tokens_before,
            details=facts.details,
            content=shown,
            preserve_data=preserved(shape, len(frames), planned.text_tail),
        )

    def _unsuitable(self, work: Work) -> str:
        """Return why a text summary is needed; empty if pictures will do."""
        if work.instructions:
            return "Instructions need a text summary."
        model = work.models[0]
        if "image" in model.input:
            return ""
        why = f"snapcompact needs a model that sees pictures; {model.id} does not."
        self._pi.warn(f"{why} A text summary is made instead.")
        return why

    def _pieces(self, work: Work, earlier: Earlier) -> list[Piece]:
        """Return what is printed now: older text first."""
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
    """Return what the replaced part and the previous compaction take now."""
    preparation, previous = work.preparation, work.previous
    assert preparation is not None
    items = (*preparation.history, *preparation.turn_prefix)
    replaced = sum(item.tokens for item in items)
    if previous is None:
        return replaced
    shown = previous.summary if previous.content is UNSET else previous.content
    return replaced + message_tokens(UserMessage(content=shown))

"""Plans an archive: the first picture, the newest ones, and the rest as text. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pi.batteries.snapcompact.frames import FramePage
from pi.batteries.snapcompact.history import shorten
from pi.batteries.snapcompact.shapes import FrameShape
from pi.extension import UNSET, Compaction, Image, Json, Record, Text

KEY = "snapcompact"
VERSION = 1
TAIL_FRAMES = 2
"""Maximal length of the text tail, in full pictures."""
CHARACTERS_PER_TOKEN = 4
NOTES = 240
"""Characters for the notes on dropped pictures and omitted text."""


class Earlier(Record):
    """The archive of the previous compaction."""

    frames: tuple[Image, ...] = ()
    text_tail: str = ""
    summary: str = ""
    """A text summary, if the previous compaction made one instead of pictures."""


def earlier_archive(previous: Compaction | None) -> Earlier:
    """Return the archive of the previous compaction, without pictures that cannot be read."""
    if previous is None:
        return Earlier()
    data: Any = previous.preserve_data.get(KEY) if previous.preserve_data else None
    if not isinstance(data, dict):
        return Earlier(summary=previous.summary)
    content = () if previous.content is UNSET else previous.content
    frames = tuple(
        block
        for block in content
        if isinstance(block, Image) and not block.data.startswith("blob:")
    )
    tail = data.get("textTail")
    return Earlier(frames=frames, text_tail=tail if isinstance(tail, str) else "")


class ArchivePlan(Record):
    """Pictures that stay, pages to print, and the rest as text."""

    kept: tuple[Image, ...]
    faded: int
    """Number of dropped pictures, from the middle of the archive."""
    printed: tuple[FramePage, ...]
    text_tail: str


def plan(
    frames: Sequence[Image], pages: Sequence[FramePage], *, budget: int, tail_characters: int
) -> ArchivePlan:
    """Fit old pictures and new pages into ``budget``.

    The first picture is pinned: it shows how the session began. Of the others the oldest are
    dropped first. Pages of this compaction are never dropped: those that do not fit stay text,
    and the next compaction prints them.
    """
    pinned, rest = tuple(frames[:1]), tuple(frames[1:])
    slots = budget - len(pinned)
    if len(pages) >= slots:
        rest = ()
    elif len(rest) > slots - len(pages):
        rest = rest[len(rest) - (slots - len(pages)) :]
    tail = "  ".join(page.text for page in pages[slots:])
    kept_frames = (*pinned, *rest)
    return ArchivePlan(
        kept=kept_frames,
        faded=len(frames) - len(kept_frames),
        printed=tuple(pages[:slots]),
        text_tail=shorten(tail, tail_characters),
    )


class ArchiveLimits(Record):
    """The size of an archive."""

    frames: int
    tail_characters: int


SHARE = 0.5
"""Share of the threshold that an archive may fill, so that it never exceeds it by itself."""


def limits(
    shape: FrameShape, *, budget: int, threshold: int, facts_tokens: int, earlier: Earlier
) -> ArchiveLimits | None:
    """Return the size of the archive; ``None`` if there is no room for a single picture.

    Once the archive is full and has a text tail, the tail may not grow, so that archives do not
    grow from compaction to compaction.
    """
    available = int(threshold * SHARE) - facts_tokens
    frames = min(budget, available // shape.largest_tokens)
    if frames < 1:
        return None
    remaining = max(0, available - frames * shape.largest_tokens)
    most = min(TAIL_FRAMES * shape.capacity, remaining * CHARACTERS_PER_TOKEN)
    if earlier.text_tail and len(earlier.frames) >= frames:
        most = min(most, max(0, len(earlier.text_tail) - NOTES))
    return ArchiveLimits(frames=frames, tail_characters=most)


GUIDE = """\
The conversation up to this point is archived in pictures of its text ({frames}), oldest first. \
Read them like a log: {layout}. [user], [assistant] and [note] are messages, [call NAME] is a tool \
call with its arguments, [result] and [error] are tool output, in grey and shortened. ⏎ is a line \
break.{faded} Read again from disk what must be exact."""
FADED = " {count} pictures from the middle of the history were given up."
TAIL = "Text that follows the last picture:"


def guide(shape: FrameShape, frames: int, faded: int) -> str:
    """Return the instructions for reading the pictures."""
    layout = f"lines of {shape.characters} characters that break anywhere"
    if shape.columns > 1:
        layout = f"{shape.columns} columns with lines of up to {shape.characters} characters"
    return GUIDE.format(
        frames=frames, layout=layout, faded=FADED.format(count=faded) if faded else ""
    )


def content(
    lead: str, frames: Sequence[Image], text_tail: str, facts: str
) -> tuple[Text | Image, ...]:
    """Return the content for the model: guide, pictures, and the text after them."""
    after = "\n\n".join(filter(None, (f"{TAIL}\n{text_tail}" if text_tail else "", facts)))
    texts = (Text(text=after),) if after else ()
    return (Text(text=lead), *frames, *texts)


def preserved_data(shape: FrameShape, frames: int, text_tail: str) -> Json:
    """Return the data for the next compaction; the pictures themselves are in the content."""
    return {
        KEY: {
            "version": VERSION,
            "shape": shape.name,
            "width": shape.width,
            "frames": frames,
            "textTail": text_tail,
        }
    }

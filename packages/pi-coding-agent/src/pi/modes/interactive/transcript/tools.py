"""Blocks of tool calls: a title with a status mark, and the rows of the view."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi.base.terminal_text import one_line
from pi.modes.interactive.transcript.block import Block, TranscriptOptions, hanging, more_rows
from pi.modes.interactive.transcript.image_cache import ImageCache
from pi.modes.interactive.transcript.tool_call_state import State, ToolCallState
from pi.tui.text.width import pad_to_width, slice_columns, truncate_to_width, visible_width
from pi.tui.text.wrap import wrap_text

if TYPE_CHECKING:
    from pi.modes.interactive.transcript.tool_views.view import DrawnCall

LONG_SECONDS = 2.0
"""Seconds from which the duration is shown."""

TITLE_ROWS = 4
"""Rows of a title that is wrapped, while folded."""
TITLE_INDENT = 4
"""Columns before further rows of a title: below the text after ``✓ $``."""

_MARKS: dict[State, tuple[str, str]] = {
    "asking": ("○", "dim"),
    "running": ("●", "accent"),
    "done": ("✓", "success"),
    "failed": ("✗", "error"),
    "interrupted": ("–", "warning"),
}
_NAMED_BY_PATH = frozenset({"read", "edit", "write", "ls"})
"""Tools whose title is a path, truncated at its start."""
_BACKGROUNDS: dict[State, str] = {
    "failed": "toolErrorBg",
}


class StackedBlock(Block):
    """A block without the space above it if it and the block above have one row per call."""

    def __init__(self, look: TranscriptOptions, above: StackedBlock | None = None) -> None:
        super().__init__(look)
        self._above = above
        self._stacked: tuple[list[str], list[str]] = ([], [])
        """Its rows, and the same without the space."""

    def is_compact(self, width: int) -> bool:
        """Whether every call has one row."""
        return len(super().render(width)) == 2

    def is_stacked(self, width: int) -> bool:
        """Whether there is no space above it."""
        above = self._above
        return above is not None and self.is_compact(width) and above.is_compact(width)

    def render(self, width: int) -> list[str]:
        """The rows; the same list as before if they are unchanged."""
        rows = super().render(width)
        if not rows or not self.is_stacked(width):
            return rows
        if self._stacked[0] is not rows:
            self._stacked = (rows, rows[1:])
        return self._stacked[1]


class ToolBlock(StackedBlock):
    """One call."""

    commit_safe_end = 0
    """No row is final before the call has ended: until then the mark in the first one changes."""

    def __init__(
        self, look: TranscriptOptions, call: ToolCallState, above: StackedBlock | None = None
    ) -> None:
        super().__init__(look, above)
        self.call = call
        self._pictures = ImageCache(look)

    @property
    def is_final(self) -> bool:  # type: ignore[override]
        """Whether the call has ended."""
        return self.call.has_ended

    def draw(self, width: int) -> list[str]:
        """The title, then the rows of the view on one background; then images."""
        name = "$" if self.call.name == "bash" else one_line(self.call.name)
        rows = _call_rows(self.call, name, self.look, width)
        return rows + self._pictures.rows(self.call.images, width)


class ReadGroupBlock(StackedBlock):
    """Consecutive calls of ``read``: a row each."""

    def __init__(self, look: TranscriptOptions, above: StackedBlock | None = None) -> None:
        super().__init__(look, above)
        self._first_rows = 0
        """How many rows the first call has."""
        self._width = 0
        self._calls: list[tuple[ToolCallState, ImageCache]] = []
        self._ended_rows = 0
        self.is_closed = False
        """Whether another block has followed, so that no more calls are added."""

    def add(self, call: ToolCallState) -> None:
        """Add a call."""
        self._calls.append((call, ImageCache(self.look)))
        self.invalidate()

    @property
    def is_final(self) -> bool:  # type: ignore[override]
        """Whether no calls are added any more and all have ended."""
        return self.is_closed and all(call.has_ended for call, _ in self._calls)

    @property
    def commit_safe_end(self) -> int:
        """The rows of the calls before the first running one, with the space above them."""
        if not self._ended_rows:
            return 0  # the first call decides whether there is a space
        return self._ended_rows + (0 if self.is_stacked(self._width) else 1)

    def is_compact(self, width: int) -> bool:
        """Whether every call has one row."""
        return len(Block.render(self, width)) == len(self._calls) + 1

    def is_stacked(self, width: int) -> bool:
        """Decided by the first call alone, because its row may be final before the others are."""
        Block.render(self, width)
        return self._above is not None and self._first_rows == 1 and self._above.is_compact(width)

    def draw(self, width: int) -> list[str]:
        """One row per call, with the content below it when expanded."""
        rows: list[str] = []
        self._width = width
        first_open: int | None = None
        for call, pictures in self._calls:
            if first_open is None and not call.has_ended:
                first_open = len(rows)
            rows += _call_rows(call, "    " if rows else "read", self.look, width)
            name = call.argument("path").rpartition("/")[2]
            rows += pictures.rows(call.images, width, name=name)
            if call is self._calls[0][0]:
                self._first_rows = len(rows)
        self._ended_rows = len(rows) if first_open is None else first_open
        return rows


def mark(state: State, look: TranscriptOptions) -> str:
    """One character for the state of a call."""
    character, token = _MARKS[state]
    return look.theme.paint(token)(character)


def duration(seconds: float, *, is_whole: bool = False) -> str:
    """``4.2s``, ``1m 05s``, ``2h 03m``; ``4s`` if it is still counted."""
    if seconds < 60:
        return f"{seconds:.1f}s" if seconds < 10 and not is_whole else f"{int(seconds)}s"
    minutes, rest = divmod(int(seconds), 60)
    if minutes < 60:
        return f"{minutes}m {rest:02}s"
    return f"{minutes // 60}h {minutes % 60:02}m"


def _call_rows(call: ToolCallState, name: str, look: TranscriptOptions, width: int) -> list[str]:
    drawn = _draw_call(call, look, max(width - 4, 1))
    head = f"{mark(call.state, look)} {look.theme.paint('toolTitle', bold=True)(name)} "
    note = _note(call, drawn, look)
    if drawn.wraps:
        rows = _wrapped_title(head, drawn, note, look, width - 2)
    elif look.is_expanded:
        rows = hanging(_with_note(head + drawn.title, note), width - 2)
    else:
        by_path = call.name in _NAMED_BY_PATH
        rows = [_short_title(head, drawn.title, note, width - 2, by_path=by_path)]
    rows += [f"  {row}" for row in drawn.rows if not call.is_in_dialog]
    background = look.theme.paint(_BACKGROUNDS.get(call.state, "toolPendingBg"))
    return [background(pad_to_width(f" {row}", width)) for row in rows]


def _draw_call(call: ToolCallState, look: TranscriptOptions, width: int) -> DrawnCall:
    """Return the view of an extension, or of the tool."""
    # Deferred: the footer is shown before the views of tools are loaded.
    from pi.modes.interactive.transcript.tool_views import view_of
    from pi.modes.interactive.transcript.tool_views.view import DrawnCall

    rows = look.views.tool(call, width, expanded=look.is_expanded)
    if rows is None:
        return view_of(call.name)(call, look, width)
    return DrawnCall(rows[0] if rows else "", rows[1:])


def _note(call: ToolCallState, drawn: DrawnCall, look: TranscriptOptions) -> str:
    parts = [drawn.note] if drawn.note else []
    if call.state == "interrupted":
        parts.append(look.theme.paint("warning")("interrupted"))
    seconds = call.elapsed(look.monotonic())
    if seconds >= LONG_SECONDS:
        shown_seconds = duration(seconds) if call.has_ended else duration(seconds, is_whole=True)
        parts.append(look.theme.paint("dim")(shown_seconds))
    return look.theme.paint("dim")(" · ").join(parts)


def _short_title(head: str, title: str, note: str, width: int, *, by_path: bool) -> str:
    """A title with a note behind it; the title is truncated first."""
    title_width = max(width - (visible_width(note) + 2 if note else 0), 8) - visible_width(head)
    if by_path and (left_out := visible_width(title) - title_width) > 0:
        title = "…" + slice_columns(title, left_out + 1, title_width - 1)
    else:
        title = truncate_to_width(title, title_width, "…")
    return truncate_to_width(_with_note(head + title, note), width, "…")


def _wrapped_title(
    head: str, drawn: DrawnCall, note: str, look: TranscriptOptions, width: int
) -> list[str]:
    """A title of all its lines, wrapped; a few rows while folded. The note stands at the end."""
    indent = " " * TITLE_INDENT
    rows = hanging(head + drawn.title, width, indent=indent)
    for line in drawn.more_title:
        rows += [indent + row for row in wrap_text(line, max(width - TITLE_INDENT, 1))]
    hidden = len(rows) - TITLE_ROWS
    if hidden > 0 and not look.is_expanded:
        # The note about hidden rows takes the place of one more row.
        rows = [*rows[: TITLE_ROWS - 1], indent + more_rows(hidden + 1, look)]
    if note and visible_width(rows[-1]) + visible_width(note) + 2 <= width:
        rows[-1] = _with_note(rows[-1], note)
    elif note:
        rows.append(indent + note)
    return [truncate_to_width(row, width, "…") for row in rows]


def _with_note(title: str, note: str) -> str:
    return f"{title}  {note}" if note else title

"""Shared parts of transcript blocks: options, cached rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from pi.coding.session.entries import Custom, CustomMessage
from pi.modes.interactive.theme import Theme
from pi.modes.interactive.transcript.tool_call_state import ToolCallState
from pi.tui.containers import CachedWidget
from pi.tui.images.graphics import Graphics
from pi.tui.text.width import truncate_to_width, visible_width
from pi.tui.text.wrap import wrap_text


class WorkTime:
    """Monotonic seconds without those in which a tool call waited for an answer of the user."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._waited = 0.0
        self._waits = 0
        self._wait_began = 0.0

    def __call__(self) -> float:
        """Return the seconds of work; they stand still during a wait."""
        return (self._wait_began if self._waits else self._monotonic()) - self._waited

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Count the block as a wait; blocks may overlap."""
        if not self._waits:
            self._wait_began = self._monotonic()
        self._waits += 1
        try:
            yield
        finally:
            self._waits -= 1
            if not self._waits:
                self._waited += self._monotonic() - self._wait_began


# Drawing by extensions ----------------------------------------------------------------------------


MarkdownKind: TypeAlias = Literal["user", "assistant", "assistant-thinking"]
"""The source of a text."""


class RendererHooks:
    """Draw parts of the transcript. Each hook returns rows, or ``None`` for the default.

    This base class draws nothing.
    """

    def tool(self, call: ToolCallState, width: int, *, expanded: bool) -> list[str] | None:
        """Draw a call: the text after the tool's name, then the rows below."""
        return None

    def message(self, message: CustomMessage, width: int, *, expanded: bool) -> list[str] | None:
        """Draw a message of an extension."""
        return None

    def entry(self, entry: Custom, width: int, *, expanded: bool) -> list[str] | None:
        """Draw an entry of an extension; usually it is not shown."""
        return None

    @property
    def shows_entries(self) -> bool:
        """Whether any entries are drawn."""
        return False

    def shows(self, entry: Custom) -> bool:
        """Whether an entry is drawn."""
        return False

    def markdown(self, text: str, kind: MarkdownKind, *, is_streaming: bool = False) -> str:
        """Return a text as it should be drawn."""
        return text

    def draws_code(self, language: str) -> bool:
        """Whether ``code`` draws fenced code of a language."""
        return False

    def code(self, language: str, text: str, width: int, *, is_open: bool) -> list[str] | None:
        """Draw fenced code; the source is shown if it does not fit."""
        return None


THINKING = "Thinking…"
"""The default label of hidden thinking."""
MAX_PASTES = 20
MIN_PASTED_LINES = 11
"""Lines from which the editor shows a marker as well."""


@dataclass
class TranscriptOptions:
    """Options shared by all blocks. After a change the transcript must be redrawn."""

    theme: Theme
    cwd: Callable[[], Path]
    home: Path
    monotonic: Callable[[], float]
    expand_key: Callable[[], str] = lambda: "ctrl+o"
    """The key that expands blocks."""
    is_expanded: bool = False
    hides_thinking: bool = False
    folds_thinking: bool = False
    """Whether thoughts show their last rows while they arrive, and one row afterwards."""
    thinking_label: str = THINKING
    """The label of hidden thinking."""
    pad: int = 1
    has_hyperlinks: bool = False
    marks_prompts: bool = False
    """Whether the terminal can jump to prompts."""
    graphics: Graphics | None = None
    """``None`` if images are not shown."""
    image_columns: int = 60
    pastes: list[str] = field(default_factory=list)
    """The last long pasted texts: messages show a marker instead of them."""
    thinking_key: Callable[[], str] = lambda: "ctrl+t"
    """The key that shows and hides thinking."""
    views: RendererHooks = field(default_factory=RendererHooks)
    """Hooks of extensions."""

    def add_paste(self, text: str) -> None:
        """Remember a pasted text, as the editor inserts it."""
        text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", "    ").strip("\n")
        if text.count("\n") >= MIN_PASTED_LINES - 1:
            self.pastes = [*self.pastes[1 - MAX_PASTES :], text]

    def short_path(self, path: str) -> str:
        """A path relative to the working directory or the home directory."""
        for base, prefix in ((self.cwd(), ""), (self.home, "~/")):
            try:
                return prefix + Path(path).relative_to(base).as_posix()
            except ValueError:
                continue
        return path


class Block(CachedWidget, ABC):
    """A part of the transcript. The first row is empty and separates it from the block above."""

    is_final = True
    """Whether its rows stay unchanged, unless everything is redrawn."""

    def __init__(self, look: TranscriptOptions) -> None:
        self.look = look

    @abstractmethod
    def draw(self, width: int) -> list[str]:
        """The rows without the space above them."""

    def _draw(self, width: int) -> list[str]:
        rows = self.draw(width)
        return ["", *rows] if rows else []


def more_rows(count: int, look: TranscriptOptions, label: str = "more") -> str:
    """The row that replaces folded rows."""
    lines = "line" if count == 1 else "lines"
    return look.theme.paint("dim")(f"… {count} {label} {lines} ({look.expand_key()} to expand)")


def clip_rows(rows: list[str], width: int) -> list[str]:
    """Truncate rows to the width."""
    return [truncate_to_width(row, width, "…") for row in rows]


def hanging(title: str, width: int, *, indent: str = "  ") -> list[str]:
    """Wrap a title; continuation rows are indented."""
    if visible_width(title) <= width:
        return [title]
    first, *others = wrap_text(title, max(width - len(indent), 1))
    return [first, *(f"{indent}{row}" for row in others)]

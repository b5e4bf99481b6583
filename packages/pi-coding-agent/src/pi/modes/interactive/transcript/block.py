"""Shared parts of transcript blocks: tool call state, options, cached rows, images."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from msgspec import UnsetType

from pi.ai.messages import Image, Json, Text
from pi.ai.tool_arguments import parse_partial
from pi.base.terminal_text import sanitise, sanitise_keeping_style
from pi.coding.session.entries import Custom, CustomMessage
from pi.modes.interactive.theme import Theme
from pi.tui.containers import CachedWidget
from pi.tui.images.graphics import Graphics, picture
from pi.tui.images.graphics import Image as ImageWidget
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


# Tool calls ---------------------------------------------------------------------------------------


MAX_UNFINISHED = 1024 * 1024
"""Characters of streaming arguments that are parsed: every frame parses all of them again."""

State: TypeAlias = Literal["asking", "running", "done", "failed", "interrupted"]


class ToolCallState:
    """Arguments and output of a call so far. Incomplete JSON is parsed as far as possible."""

    def __init__(self, id: str, name: str, *, now: float) -> None:
        self.id = id
        self.name = name
        self.state: State = "asking"
        self.text = ""
        """The output of the tool, sanitised."""
        self.styled = ""
        """The output with its colours; only commands have any."""
        self.images: tuple[Image, ...] = ()
        self.seconds: float | None = None
        """The duration, once it has ended."""
        self.is_in_dialog = False
        """Whether an open dialog shows what the call would do."""
        self._details: Any = None
        self._began = now
        self._arguments: Json = {}
        self._pieces: list[str] = []
        self._size = 0
        self._is_stale = False

    @property
    def arguments(self) -> Json:
        """The arguments so far."""
        if self._is_stale:
            self._is_stale = False
            self._arguments = parse_partial("".join(self._pieces))
        return self._arguments

    def argument(self, name: str) -> str:
        """An argument as sanitised text; empty if missing."""
        value = self.arguments.get(name)
        if value is None:
            return ""
        return sanitise(value if isinstance(value, str) else str(value))

    @property
    def details(self) -> Json:
        """The structured details of the result; empty if there are none."""
        return self._details if isinstance(self._details, dict) else {}

    @property
    def has_ended(self) -> bool:
        """Whether the call has ended."""
        return self.state not in ("asking", "running")

    def append_arguments(self, piece: str) -> None:
        """Add a part of the arguments, as JSON text."""
        self._size += len(piece)
        if self._size <= MAX_UNFINISHED:
            self._pieces.append(piece)
            self._is_stale = True

    def set_arguments(self, arguments: Json) -> None:
        """The arguments are complete."""
        self._arguments, self._is_stale = arguments, False
        self._pieces.clear()

    def run(self, arguments: Json, *, now: float) -> None:
        """The call starts."""
        self.set_arguments(arguments)
        self.state, self._began = "running", now

    def elapsed(self, now: float) -> float:
        """Return the duration, so far or in total; 0 for a stored call."""
        if self.seconds is not None:
            return self.seconds
        return max(now - self._began, 0.0) if self.state == "running" else 0.0

    def show(self, content: Sequence[Text | Image], details: Any) -> None:
        """Update the output; ignored once the call has ended."""
        if not self.has_ended:
            self._set_output(content, details)

    def end(
        self, content: Sequence[Text | Image], details: Any, *, failed: bool, now: float | None
    ) -> None:
        """The call has ended; ``now`` is ``None`` for a stored call."""
        self.state = "failed" if failed else "done"
        self.seconds = None if now is None else max(now - self._began, 0.0)
        self._set_output(content, details)
        if failed and self.name == "bash" and self.text.endswith("Command aborted"):
            self.state = "interrupted"  # by the user: that is no error

    def interrupt(self) -> None:
        """The call was abandoned."""
        if not self.has_ended:
            self.state = "interrupted"

    def _set_output(self, content: Sequence[Text | Image], details: Any) -> None:
        text = "\n".join(part.text for part in content if isinstance(part, Text))
        if self.name == "bash":
            text = _last_written(text)
        self.text = self.styled = sanitise(text)
        if self.name == "bash" and "\x1b[" in text:
            self.styled = sanitise_keeping_style(text).removesuffix("\x1b[0m")
        self.images = tuple(part for part in content if isinstance(part, Image))
        self._details = None if isinstance(details, UnsetType) else details


def _last_written(text: str) -> str:
    """Remove overwritten parts of lines, as progress bars produce them."""
    if "\r" not in text:
        return text
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))


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


# Blocks and their options -------------------------------------------------------------------------


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


# Blocks -------------------------------------------------------------------------------------------


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


# Images -------------------------------------------------------------------------------------------


class ImageCache:
    """The images of one block; the widget of each is cached."""

    def __init__(self, look: TranscriptOptions) -> None:
        self._look = look
        self._drawn: tuple[Sequence[Image], Graphics | None, int] | None = None
        """The arguments of the cached widgets: images, graphics protocol, maximum width."""
        self._widgets: list[ImageWidget] = []

    def rows(self, images: Sequence[Image], width: int, *, name: str = "") -> list[str]:
        """Return the images below each other, or a line of text for each that cannot be shown.

        ``name`` is their file name, if known.
        """
        key = (images, self._look.graphics, self._look.image_columns)
        if key != self._drawn:
            self._drawn = key
            self._widgets = [self._widget(image, name) for image in images]
        margin = " " * self._look.pad
        inside = max(width - 2 * len(margin), 1)
        return [margin + row for widget in self._widgets for row in widget.render(inside)]

    def _widget(self, image: Image, name: str) -> ImageWidget:
        look = self._look
        return ImageWidget(
            picture(image.data, image.mime_type, name),
            look.graphics,
            max_columns=look.image_columns,
            paint=look.theme.paint("muted"),
        )

"""What the blocks of the transcript have in common: rows that are remembered until they change."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from msgspec import UnsetType

from pi.ai.json_text import parse_partial
from pi.ai.messages import Image, Json, Text
from pi.base.terminal_text import sanitise
from pi.coding.session.entries import Custom, CustomMessage
from pi.modes.interactive.theme import Theme
from pi.tui.component import RowCache
from pi.tui.images.graphics import Graphics
from pi.tui.text.width import truncate_to_width, visible_width
from pi.tui.text.wrap import wrap_text

if TYPE_CHECKING:
    from pi.tui.images.graphics import Image as ImageWidget


# A tool call as the transcript knows it: what was asked, what came of it so far.


MOST_UNFINISHED = 1024 * 1024
"""Characters of arguments that are read while they arrive: every frame reads all of them again."""

State: TypeAlias = Literal["asking", "running", "done", "failed", "interrupted"]


class ToolCallState:
    """One call. Arguments that are still being written are read as far as they go."""

    def __init__(self, id: str, name: str, *, now: float) -> None:
        self.id = id
        self.name = name
        self.state: State = "asking"
        self.text = ""
        """What the tool says, harmless to a terminal."""
        self.images: tuple[Image, ...] = ()
        self.seconds: float | None = None
        """How long it ran, once it has ended."""
        self._details: Any = None
        self._began = now
        self._arguments: Json = {}
        self._pieces: list[str] = []
        self._size = 0
        self._is_stale = False

    @property
    def arguments(self) -> Json:
        """What the model asks for, as far as it has said it."""
        if self._is_stale:
            self._is_stale = False
            self._arguments = parse_partial("".join(self._pieces))
        return self._arguments

    def argument(self, name: str) -> str:
        """An argument as harmless text; empty while it is not there."""
        value = self.arguments.get(name)
        if value is None:
            return ""
        return sanitise(value if isinstance(value, str) else str(value))

    @property
    def details(self) -> Json:
        """What the tool tells programs; empty if nothing."""
        return self._details if isinstance(self._details, dict) else {}

    @property
    def has_ended(self) -> bool:
        """Whether nothing more comes."""
        return self.state not in ("asking", "running")

    def ask(self, piece: str) -> None:
        """More of the arguments, as JSON text."""
        self._size += len(piece)
        if self._size <= MOST_UNFINISHED:
            self._pieces.append(piece)
            self._is_stale = True

    def asked(self, arguments: Json) -> None:
        """The arguments are complete."""
        self._arguments, self._is_stale = arguments, False
        self._pieces.clear()

    def run(self, arguments: Json, *, now: float) -> None:
        """It begins to run."""
        self.asked(arguments)
        self.state, self._began = "running", now

    def show(self, content: Sequence[Text | Image], details: Any) -> None:
        """What it has said so far; too late once it has ended."""
        if not self.has_ended:
            self._take(content, details)

    def end(
        self, content: Sequence[Text | Image], details: Any, *, failed: bool, now: float | None
    ) -> None:
        """It has ended; ``now`` is unknown for a call of an earlier day."""
        self.state = "failed" if failed else "done"
        self.seconds = None if now is None else max(now - self._began, 0.0)
        self._take(content, details)

    def interrupt(self) -> None:
        """Nobody will hear of it any more."""
        if not self.has_ended:
            self.state = "interrupted"

    def _take(self, content: Sequence[Text | Image], details: Any) -> None:
        text = "\n".join(part.text for part in content if isinstance(part, Text))
        self.text = sanitise(_last_written(text) if self.name == "bash" else text)
        self.images = tuple(part for part in content if isinstance(part, Image))
        self._details = None if isinstance(details, UnsetType) else details


def _last_written(text: str) -> str:
    """Lines without what was written over, as a progress bar does with every step."""
    if "\r" not in text:
        return text
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))


# How others than the transcript want parts of it drawn.


MarkdownKind: TypeAlias = Literal["user", "assistant", "assistant-thinking"]
"""Whose words a text is."""


class RendererHooks:
    """Each gives rows, or nothing to have something drawn as usual. Here nobody wants anything."""

    def tool(self, call: ToolCallState, width: int, *, expanded: bool) -> list[str] | None:
        """A call: what stands behind the tool's name, then the rows below."""
        return None

    def message(self, message: CustomMessage, width: int, *, expanded: bool) -> list[str] | None:
        """What an extension says to the model."""
        return None

    def entry(self, entry: Custom, width: int, *, expanded: bool) -> list[str] | None:
        """Something that an extension keeps in the session; usually nobody sees it."""
        return None

    @property
    def shows_entries(self) -> bool:
        """Whether any entries are drawn."""
        return False

    def shows(self, entry: Custom) -> bool:
        """Whether an entry is drawn at all."""
        return False

    def markdown(self, text: str, kind: MarkdownKind, *, is_streaming: bool = False) -> str:
        """A text as it is to be drawn."""
        return text


# How the transcript is drawn: what all its blocks share, and what a person can switch.


THINKING = "Thinking…"
"""What stands for thoughts that are hidden, unless somebody wants other words."""


@dataclass
class TranscriptOptions:
    """One for all blocks. Whoever changes it lets the transcript draw everything anew."""

    theme: Theme
    cwd: Callable[[], Path]
    home: Path
    monotonic: Callable[[], float]
    expand_key: Callable[[], str] = lambda: "ctrl+o"
    """What the person presses to see more."""
    is_expanded: bool = False
    hides_thinking: bool = False
    thinking_label: str = THINKING
    """What stands for thoughts that are hidden."""
    pad: int = 1
    has_hyperlinks: bool = False
    graphics: Graphics | None = None
    """Nothing while pictures are not to be shown."""
    image_columns: int = 60
    views: RendererHooks = field(default_factory=RendererHooks)
    """How others want things drawn."""

    def short_path(self, path: str) -> str:
        """A path as a person would write it here: relative, or from the home folder."""
        for base, prefix in ((self.cwd(), ""), (self.home, "~/")):
            try:
                return prefix + Path(path).relative_to(base).as_posix()
            except ValueError:
                continue
        return path


class Block(ABC):
    """A part of the transcript. The first row is empty and keeps it apart from what is above."""

    is_final = True
    """Whether its rows stay as they are, unless everything is drawn anew."""

    def __init__(self, look: TranscriptOptions) -> None:
        self.look = look
        self._memory = RowCache()

    def invalidate(self) -> None:
        """Draw anew next time."""
        self._memory.forget()

    def render(self, width: int) -> list[str]:
        """The rows; none if there is nothing to see."""
        return self._memory.rows(width, self._spaced)

    @abstractmethod
    def draw(self, width: int) -> list[str]:
        """The rows without the space above them."""

    def _spaced(self, width: int) -> list[str]:
        rows = self.draw(width)
        return ["", *rows] if rows else []


def more_rows(count: int, look: TranscriptOptions, what: str = "more") -> str:
    """The row that stands for those that are folded away."""
    lines = "line" if count == 1 else "lines"
    return look.theme.paint("dim")(f"… {count} {what} {lines} ({look.expand_key()} to expand)")


def clipped(rows: list[str], width: int) -> list[str]:
    """Rows cut where they do not fit."""
    return [truncate_to_width(row, width, "…") for row in rows]


def hanging(title: str, width: int) -> list[str]:
    """A title over as many rows as it takes, the others a little further right than the first."""
    if visible_width(title) <= width:
        return [title]
    first, *others = wrap_text(title, max(width - 2, 1))
    return [first, *(f"  {row}" for row in others)]


# Pictures in the transcript, each drawn by one widget for as long as it is shown.


class ImageCache:
    """The pictures of one block."""

    def __init__(self, look: TranscriptOptions) -> None:
        self._look = look
        self._drawn: tuple[Sequence[Image], Graphics | None, int] | None = None
        """Of what the widgets are made: which pictures, with what, and how wide at the most."""
        self._widgets: list[ImageWidget] = []

    def rows(self, images: Sequence[Image], width: int, *, name: str = "") -> list[str]:
        """The pictures one below the other, or a line of text for each that cannot be shown.

        ``name`` is what they are called, if that is known.
        """
        wanted = (images, self._look.graphics, self._look.image_columns)
        if wanted != self._drawn:
            self._drawn = wanted
            self._widgets = [self._widget(image, name) for image in images]
        margin = " " * self._look.pad
        inside = max(width - 2 * len(margin), 1)
        return [margin + row for widget in self._widgets for row in widget.render(inside)]

    def _widget(self, image: Image, name: str) -> ImageWidget:
        # Few sessions show a picture, and reading them takes modules that nothing else needs.
        from pi.tui.images.graphics import Image as ImageWidget
        from pi.tui.images.graphics import picture

        look = self._look
        return ImageWidget(
            picture(image.data, image.mime_type, name),
            look.graphics,
            max_columns=look.image_columns,
            paint=look.theme.paint("muted"),
        )

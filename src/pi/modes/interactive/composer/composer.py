"""The composer: an editor between its borders, with what is queued above it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pi.base.tasks import TaskScope
from pi.base.terminal_text import one_line
from pi.modes.interactive.composer.prompt import (
    EditorProtocol,
    OnAction,
    PromptEditor,
    TypingDetector,
)
from pi.modes.interactive.theme import Theme
from pi.tui.completion.provider import Provider
from pi.tui.component import RowCache
from pi.tui.containers import Container
from pi.tui.input.keymap import Keymap
from pi.tui.text.width import truncate_to_width
from pi.tui.widgets.editor.editor import Editor

if TYPE_CHECKING:
    from pi.ai.messages import Image
    from pi.coding.port.extensions import InputMode


# Pictures that go with a message: a marker in the text stands for each.


LOST = "[image, not kept]"
_MARKER = re.compile(r"\[image #(\d+)\]")


class Attachments:
    """The pictures of the message that is being written."""

    def __init__(self) -> None:
        self._images: dict[int, Image] = {}
        self._next = 1

    def add(self, image: Image) -> str:
        """Keep a picture; gives the marker that stands for it."""
        number, self._next = self._next, self._next + 1
        self._images[number] = image
        return f"[image #{number}]"

    def taken_from(self, text: str) -> tuple[Image, ...]:
        """The pictures whose markers are in ``text``, in its order; they stay known."""
        numbers = dict.fromkeys(int(number) for number in _MARKER.findall(text))
        return tuple(self._images[number] for number in numbers if number in self._images)

    def without_pictures(self, text: str) -> str:
        """``text`` for another program, to which its markers would mean other pictures."""

        def named(marker: re.Match[str]) -> str:
            return LOST if int(marker[1]) in self._images else marker[0]

        return _MARKER.sub(named, text)


# What was said and is not delivered yet, above the editor.


MOST_ROWS = 6


class QueuedRows:
    """One row for each message, and how to take them back."""

    def __init__(self, theme: Theme, key: Callable[[], str]) -> None:
        self._theme = theme
        self._key = key
        self._messages: tuple[tuple[str, str], ...] = ()
        """Each with the name of its group."""
        self._memory = RowCache()

    def set(self, *groups: tuple[str, tuple[str, ...]]) -> None:
        """Show messages, each group behind its name."""
        messages = tuple((name, text) for name, texts in groups for text in texts)
        if messages != self._messages:
            self._messages = messages
            self.invalidate()

    @property
    def texts(self) -> tuple[str, ...]:
        """The messages in full, in their order."""
        return tuple(text for _, text in self._messages)

    def invalidate(self) -> None:
        """Draw anew next time."""
        self._memory.forget()

    def render(self, width: int) -> list[str]:
        """The messages; nothing if none waits."""
        return self._memory.rows(width, self._draw)

    def _draw(self, width: int) -> list[str]:
        if not self._messages:
            return []
        dim, muted = self._theme.paint("dim"), self._theme.paint("muted")
        rows = [
            f" {dim(f'{name}:')} {muted(one_line(text))}"
            for name, text in self._messages[:MOST_ROWS]
        ]
        if (hidden := len(self._messages) - MOST_ROWS) > 0:
            rows.append(dim(f" … {hidden} more"))
        rows.append(dim(f" ↳ {self._key()} to edit them"))
        return [truncate_to_width(row, width, "…") for row in rows]


_LEVELS = {level: f"thinking{level.capitalize()}" for level in (
    "off", "minimal", "low", "medium", "high", "xhigh", "max",
)}  # fmt: skip


class Composer:
    """What the person writes. ``on_submit`` gets the text and the pictures that go with it."""

    def __init__(
        self,
        theme: Theme,
        keymap: Keymap,
        *,
        tasks: TaskScope,
        typing: TypingDetector,
        screen_rows: Callable[[], int],
        request_render: Callable[[], None],
    ) -> None:
        self.on_submit: Callable[[str, tuple[Image, ...]], None] = lambda text, images: None
        self.on_change: Callable[[str], None] = lambda text: None
        """Told what is ``unsent`` whenever that may be something else."""
        self.mode_of: Callable[[str], InputMode | None] = lambda text: None
        """Which mode of others a text is written in."""
        self._labels = {"mode": "", "activity": ""}
        self._theme = theme
        self._keymap = keymap
        self._level = "off"
        self._attachments = Attachments()
        self._usual = Editor(
            keymap=keymap,
            theme=theme.editor,
            screen_rows=screen_rows,
            tasks=tasks,
            request_render=request_render,
        )
        self._editor: EditorProtocol = self._usual
        self._prepare: dict[str, Callable[[EditorProtocol], None]] = {}
        """What every editor is told before it is used."""
        self.typing = typing
        self.prompt = PromptEditor(self._editor, keymap, typing)
        self._connect()
        self._queued = QueuedRows(theme, lambda: self._key("app.message.dequeue"))
        self.component = Container(self._queued, self.prompt)

    @property
    def text(self) -> str:
        """What is written, long pastes in full."""
        return self._editor.get_expanded_text()

    def set_text(self, text: str) -> None:
        """Replace what is written; it can be undone."""
        self._editor.set_text(text)

    def insert(self, text: str) -> None:
        """Insert text at the cursor."""
        self._editor.insert_text_at_cursor(text)

    def attach(self, image: Image) -> None:
        """Let a picture go with the message; a marker at the cursor stands for it."""
        self.insert(self._attachments.add(image))

    def take(self) -> tuple[str, tuple[Image, ...]]:
        """What is written, which is gone then from the editor, as if it had been submitted."""
        text = self.text.strip()
        self.remember(text)
        self._editor.set_text("")
        return text, self._attachments.taken_from(text)

    def remember(self, text: str) -> None:
        """Make a message one that Up leads to."""
        self._editor.add_to_history(text)

    def on_action(self, act: OnAction) -> None:
        """Say who is asked about the keys of the application."""
        self.prompt.on_action = act

    def use(self, editor: EditorProtocol | None) -> None:
        """Write with another editor, or with the usual one again; what is written is kept."""
        before, text, label = self._editor, self.text, self._editor.label
        self._editor = editor or self._usual
        self._editor.focused, before.focused = before.focused, False
        self._editor.label = label
        for prepare in self._prepare.values():
            prepare(self._editor)
        self._connect()
        self.set_text(text)

    def offer(self, provider: Provider) -> None:
        """Say who knows what could be meant."""
        self._tell("offer", lambda editor: editor.set_autocomplete_provider(provider))

    def arrange(self, *, padding: int, suggestions: int) -> None:
        """Set how wide the margins are and how many suggestions are seen at once."""
        self._tell("margins", lambda editor: editor.set_padding_x(padding))
        self._tell("rows", lambda editor: editor.set_autocomplete_max_visible(suggestions))

    def show_label(self, label: str) -> None:
        """Put something into the upper border."""
        self._label("activity", label)

    def show_level(self, level: str) -> None:
        """Let the border tell how much the model thinks."""
        self._level = level
        self._paint_border()

    def show_queued(self, *groups: tuple[str, tuple[str, ...]]) -> None:
        """Show what waits to be delivered, each group behind its name."""
        self._queued.set(*groups)
        self.on_change(self.unsent)

    @property
    def unsent(self) -> str:
        """What would be lost now: what waits to be delivered, and what is written.

        Pictures are not in it, only that there were some.
        """
        return self._attachments.without_pictures(self._before_the_text(self._queued.texts))

    def take_back(self, messages: Sequence[str]) -> None:
        """Put messages that were queued before what is written."""
        self.set_text(self._before_the_text(messages))

    def _before_the_text(self, messages: Sequence[str]) -> str:
        return "\n\n".join(part for part in (*messages, self.text) if part.strip())

    def _connect(self) -> None:
        self._editor.on_submit = self._submitted
        self._editor.on_change = self._changed
        self.prompt.editor = self._editor

    def _tell(self, what: str, tell: Callable[[EditorProtocol], None]) -> None:
        """Tell the editor something, and every one that may follow it."""
        self._prepare[what] = tell
        tell(self._editor)

    def _submitted(self, text: str) -> None:
        images = self._attachments.taken_from(text)
        if text:
            self.remember(text)
            self.on_submit(text, images)

    def _changed(self, text: str) -> None:
        self._paint_border()
        self.on_change(self.unsent)

    def _paint_border(self) -> None:
        text = self._editor.get_text()
        mode = self.mode_of(text)
        token = mode.colour if mode is not None else _LEVELS.get(self._level, "border")
        paint = self._theme.paint("bashMode" if text.startswith("!") else token)
        self._editor.border_color = paint
        self._label("mode", paint(one_line(mode.label)) if mode is not None else "")

    def _label(self, part: str, text: str) -> None:
        self._labels[part] = text
        label = "  ".join(filter(None, self._labels.values()))
        if label != self._editor.label:
            self._editor.label = label

    def _key(self, action: str) -> str:
        keys = self._keymap.keys(action)
        return keys[0] if keys else "nothing"

"""The composer: the editor with its borders, and the queued messages above it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pi.base.tasks import TaskScope
from pi.base.terminal_text import one_line
from pi.modes.interactive.composer.attachments import Attachments
from pi.modes.interactive.composer.editor_protocol import EditorProtocol
from pi.modes.interactive.composer.prompt import OnAction, PromptEditor, TypingDetector
from pi.modes.interactive.composer.queued_rows import QueuedRows
from pi.modes.interactive.theme import Theme
from pi.tui.completion.provider import Provider
from pi.tui.component import Component
from pi.tui.containers import Container
from pi.tui.input.keymap import Keymap
from pi.tui.widgets.editor.editor import Editor

if TYPE_CHECKING:
    from pi.ai.messages import Image
    from pi.coding.port.extensions import InputMode


# Queued messages ----------------------------------------------------------------------------------


_LEVELS = {level: f"thinking{level.capitalize()}" for level in (
    "off", "minimal", "low", "medium", "high", "xhigh", "max",
)}  # fmt: skip


PLACEHOLDER = "Ask anything, @file, !command, / for commands"
SHORT_PLACEHOLDER = "Ask anything, / for commands"


class Composer:
    """The prompt editor. ``on_submit`` gets the text and the images of the message."""

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
        self.on_change: Callable[[], None] = lambda: None
        """Called after every possible change of ``unsent``."""
        self.on_text: Callable[[str], None] = lambda text: None
        """Called with the text after every change of it."""
        self.mode_of: Callable[[str], InputMode | None] = lambda text: None
        """Returns the input mode of an extension for a text."""
        self._labels = {"mode": "", "activity": ""}
        self._theme = theme
        self._keymap = keymap
        self._level = "off"
        self._attachments = Attachments()
        self.usual = Editor(
            keymap=keymap,
            theme=theme.editor,
            screen_rows=screen_rows,
            tasks=tasks,
            request_render=request_render,
        )
        self.usual.placeholder = PLACEHOLDER
        self.usual.short_placeholder = SHORT_PLACEHOLDER
        self._editor: EditorProtocol = self.usual
        self._prepare: dict[str, Callable[[EditorProtocol], None]] = {}
        """Settings applied to every new editor."""
        self.typing = typing
        self.prompt = PromptEditor(self._editor, keymap, typing)
        self._connect()
        self._queued = QueuedRows(theme, lambda: self._key("app.message.dequeue"))
        self.component = Container(self._queued, self.prompt)
        """Everything from the queued messages to the editor."""

    @property
    def text(self) -> str:
        """The text, with long pastes in full."""
        return self._editor.get_expanded_text()

    def set_text(self, text: str) -> None:
        """Replace the text; this can be undone."""
        self._editor.set_text(text)

    def insert(self, text: str) -> None:
        """Insert text at the cursor."""
        self._editor.insert_text_at_cursor(text)

    def attach(self, image: Image) -> None:
        """Attach an image; inserts its marker at the cursor."""
        self.insert(self._attachments.add(image))

    def take(self) -> tuple[str, tuple[Image, ...]]:
        """Return the text and clear the editor, as if it had been submitted."""
        text = self.text.strip()
        self.remember(text)
        self._editor.set_text("")
        return text, self._attachments.images_in(text)

    def remember(self, text: str) -> None:
        """Add a message to the history."""
        self._editor.add_to_history(text)
        if self._editor is not self.usual:
            self.usual.add_to_history(text)

    def on_action(self, act: OnAction) -> None:
        """Set the handler of application keys."""
        self.prompt.on_action = act

    def show_above(self, row: Component) -> None:
        """Show a component between the queued messages and the editor."""
        self.component.insert_child(1, row)

    def use(self, editor: EditorProtocol | None) -> None:
        """Replace the editor, or restore the default; the text is kept."""
        before, text, label = self._editor, self.text, self._editor.label
        self._editor = editor or self.usual
        self._editor.focused, before.focused = before.focused, False
        self._editor.label = label
        for prepare in self._prepare.values():
            prepare(self._editor)
        self._connect()
        self.set_text(text)

    def offer(self, provider: Provider) -> None:
        """Set the completion provider."""
        self._configure("offer", lambda editor: editor.set_autocomplete_provider(provider))

    def arrange(self, *, padding: int, suggestions: int) -> None:
        """Set the margin and the number of visible suggestions."""
        self._configure("margins", lambda editor: editor.set_padding_x(padding))
        self._configure("rows", lambda editor: editor.set_autocomplete_max_visible(suggestions))

    def show_placeholder(self, text: str) -> None:
        """Set what the empty editor shows."""
        self.usual.placeholder = text
        self.usual.short_placeholder = ""

    def show_label(self, label: str) -> None:
        """Set the text of the upper border."""
        self._label("activity", label)

    def show_level(self, level: str) -> None:
        """Set the border colour of a thinking level."""
        self._level = level
        self._paint_border(self._editor.get_text())

    def show_queued(self, *groups: tuple[str, tuple[str, ...]]) -> None:
        """Show queued messages, each group with its name."""
        self._queued.set(*groups)
        self.on_change()

    @property
    def unsent(self) -> str:
        """Return the queued messages and the text, which would be lost at exit.

        Images are replaced by a placeholder.
        """
        return self._attachments.without_pictures(self._before_the_text(self._queued.texts))

    def restore(self, messages: Sequence[str]) -> None:
        """Insert queued messages before the text."""
        self.set_text(self._before_the_text(messages))

    def _before_the_text(self, messages: Sequence[str]) -> str:
        return "\n\n".join(part for part in (*messages, self.text) if part.strip())

    def _connect(self) -> None:
        self._editor.on_submit = self._submit_text
        self._editor.on_change = self._handle_change
        self.prompt.editor = self._editor

    def _configure(self, name: str, apply: Callable[[EditorProtocol], None]) -> None:
        """Apply a setting to this editor and to every later one."""
        self._prepare[name] = apply
        apply(self._editor)

    def _submit_text(self, text: str) -> None:
        images = self._attachments.images_in(text)
        if text:
            self.remember(text)
            self.on_submit(text, images)

    def _handle_change(self, text: str) -> None:
        self._paint_border(text)
        self.on_text(text)
        self.on_change()

    def _paint_border(self, text: str) -> None:
        mode = self.mode_of(text)
        token = mode.colour if mode is not None else _LEVELS.get(self._level, "border")
        paint = self._theme.paint("bashMode" if text.startswith("!") else token)
        self._editor.border_color = paint
        label = one_line(mode.label) if mode is not None else _bash_label(text)
        self._label("mode", paint(label) if label else "")

    def _label(self, part: str, text: str) -> None:
        self._labels[part] = text
        label = "  ".join(filter(None, self._labels.values()))
        if label != self._editor.label:
            self._editor.label = label

    def _key(self, action: str) -> str:
        keys = self._keymap.keys(action)
        return keys[0] if keys else "nothing"


def _bash_label(text: str) -> str:
    """The label of a command of the user: ``!`` and ``!!`` differ in what the model sees."""
    if text.startswith("!!"):
        return "bash · not shown to the model"
    return "bash" if text.startswith("!") else ""

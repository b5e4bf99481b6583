"""Editors and key listeners of extensions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from pi.coding.extension_host.errors import ExtensionError
from pi.coding.port.drawing import Drawable, Make, make_drawable
from pi.modes.interactive.extensions.completion import ExtensionCompletion
from pi.modes.interactive.extensions.drawing import Failed, SafeInteractive, fitting
from pi.modes.interactive.layout import AppLayout
from pi.tui.completion.provider import Provider
from pi.tui.input.decoder import InputDecision, KeyListeners
from pi.tui.style import Paint, unpainted

if TYPE_CHECKING:
    from pi.tui.mouse import MouseEvent, MouseResult


_NEEDED = ("get_text", "set_text", "handle_input")


class ExtensionEditor:
    """Implements ``EditorProtocol`` with a component of an extension; it may lack some members.

    The component calls its ``on_submit(text)`` to send the text.
    """

    def __init__(self, component: Drawable, failed: Failed) -> None:
        missing = [name for name in _NEEDED if not hasattr(component, name)]
        if missing:
            raise ExtensionError(
                f"{component!r} is not an editor: it lacks {', '.join(missing)}.",
                hint=f"An editor needs {', '.join(_NEEDED)}.",
            )
        self.on_submit: Callable[[str], None] = lambda text: None
        self.on_change: Callable[[str], None] = lambda text: None
        self.label = ""
        self._any: Any = cast("Any", component)
        self._any.on_submit = self._submit_text
        self._player = SafeInteractive(component, failed)
        self.invalidate = self._player.invalidate
        """Invalidates the cached rows."""
        self._failed = failed
        self._has_failed = False
        self._text = ""
        """The last known text."""

    @property
    def component(self) -> Drawable:
        """The component of the extension."""
        drawable: Drawable = self._any
        return drawable

    @property
    def focused(self) -> bool:
        """Whether the cursor is shown."""
        return self._player.focused

    @focused.setter
    def focused(self, focused: bool) -> None:
        self._player.focused = focused

    @property
    def border_color(self) -> Paint:
        """The paint of its borders, if it has any."""
        paint: Paint = getattr(self._any, "border_color", unpainted)
        return paint

    @border_color.setter
    def border_color(self, paint: Paint) -> None:
        if hasattr(self._any, "border_color"):
            self._any.border_color = paint

    def get_text(self) -> str:
        """The text as displayed."""
        return self._read_text(self._any.get_text)

    def get_expanded_text(self) -> str:
        """The text as submitted."""
        return self._read_text(getattr(self._any, "get_expanded_text", self._any.get_text))

    def set_text(self, text: str) -> None:
        """Replace the text."""
        self._text = text
        self._set("set_text", text)
        self.on_change(text)

    def insert_text_at_cursor(self, text: str) -> None:
        """Insert text; at the end if the component has no cursor position."""
        if hasattr(self._any, "insert_text_at_cursor"):
            self._set("insert_text_at_cursor", text)
            self.on_change(self.get_text())
        else:
            self.set_text(self.get_text() + text)

    def add_to_history(self, text: str) -> None:
        """Add a prompt to the history."""
        self._set("add_to_history", text)

    def set_autocomplete_provider(self, provider: Provider) -> None:
        """Set the completion provider."""
        self._set("set_autocomplete_provider", provider)

    def set_autocomplete_max_visible(self, rows: int) -> None:
        """Set the number of visible suggestions."""
        self._set("set_autocomplete_max_visible", rows)

    def set_padding_x(self, columns: int) -> None:
        """Set the margin on both sides of the text."""
        self._set("set_padding_x", columns)

    def handle_input(self, data: str) -> None:
        """Handle one key or one paste."""
        before = self.get_text()
        self._player.handle_input(data)
        if (text := self.get_text()) != before:
            self.on_change(text)

    def handle_mouse(self, event: MouseEvent) -> MouseResult | None:
        """Ignore the mouse."""
        return None

    def render(self, width: int) -> list[str]:
        """Return the rows of the component, below the label."""
        rows = self._player.render(width)
        return [*fitting([self.label], width), *rows] if self.label else rows

    def _read_text(self, member: Callable[[], str]) -> str:
        """Return the text of the component; the last known one after a failure."""
        if not self._has_failed:
            try:
                self._text = member()
            except Exception as error:
                self._fail(error)
        return self._text

    def _submit_text(self, text: str) -> None:
        self.set_text("")
        self.on_submit(text.strip())

    def _set(self, name: str, value: object) -> None:
        member = getattr(self._any, name, None)
        if member is None:
            return
        try:
            member(value)
        except Exception as error:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        self._has_failed = True
        self._failed(error)


# Text, editor and key listeners -------------------------------------------------------------------


class ExtensionEditing:
    """Gives extensions access to the text, the editor, completion and keys.

    ``factory_arguments`` are passed to an editor factory. ``notify`` reports a failure in one line.
    """

    def __init__(
        self,
        frame: AppLayout,
        factory_arguments: tuple[object, ...],
        notify: Callable[[str], None],
    ) -> None:
        self._frame = frame
        self._factory_arguments = factory_arguments
        self._notify = notify
        self._editor: ExtensionEditor | None = None
        self.completing = ExtensionCompletion(
            lambda error: notify(f"Completion of an extension failed: {error!r}")
        )
        frame.composer.offer(self.completing.provider)
        self._listeners = KeyListeners()
        self._is_listening = False

    @property
    def component(self) -> Drawable | None:
        """The editor of an extension, if one is set."""
        return None if self._editor is None else self._editor.component

    def set_text(self, text: str) -> None:
        """Replace the text."""
        self._frame.composer.set_text(text)
        self._frame.tui.request_render()

    def paste(self, text: str) -> None:
        """Insert text at the cursor."""
        self._frame.composer.insert(text)
        self._frame.tui.request_render()

    def use(self, make: Make | None) -> None:
        """Replace the editor; ``None`` restores the built-in one. The text is kept."""
        editor = None
        if make is not None:
            editor = ExtensionEditor(make_drawable(make, *self._factory_arguments), self._broken)
        self._editor = editor
        self._frame.composer.use(editor)
        self._frame.tui.request_render()

    def listen(self, listener: Callable[[str], Any]) -> Callable[[], None]:
        """Call ``listener`` first for every key; returns a function that removes it."""
        if not self._is_listening:  # few extensions listen, and every key would pass here
            self._is_listening = True
            self._frame.tui.add_input_listener(self._filter_key, first=True)
        return self._listeners.add(lambda data: as_decision(listener(data)))

    def _filter_key(self, data: str) -> InputDecision:
        remaining = self._listeners.filtered(data)
        return InputDecision(consume=remaining is None, data=remaining)

    def _broken(self, error: Exception) -> None:
        # Deferred: a frame with this editor may be about to be painted.
        asyncio.get_running_loop().call_soon(self._give_up, error)

    def _give_up(self, error: Exception) -> None:
        if self._editor is not None:
            self.use(None)
            self._notify(f"The editor of an extension failed: {error!r}")


def as_decision(answer: Any) -> InputDecision | None:
    """Convert the result of a listener: a record, or a dict with ``consume`` or ``data``."""
    if isinstance(answer, Mapping):
        return InputDecision(consume=bool(answer.get("consume")), data=answer.get("data"))
    return answer if isinstance(answer, InputDecision) else None

"""The prompt editor: handles application keys before the editor, and detects typing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from pi.base.clock import Clock
from pi.modes.interactive.composer.editor_protocol import EditorProtocol
from pi.tui.input.decoder import PASTE_END, PASTE_START
from pi.tui.input.keymap import Keymap

if TYPE_CHECKING:
    from pi.tui.mouse import MouseEvent, MouseResult


# Typing -------------------------------------------------------------------------------------------


PAUSE_SECONDS = 0.7
"""Longer than the usual pause between two keys of a sentence."""


class TypingDetector:
    """Records when a key last changed the text.

    A dialog that opens while the user types would swallow the keys, and an Enter meant to send a
    message would answer it.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last: float | None = None

    def typed(self) -> None:
        """A key changed the text."""
        self._last = self._clock.monotonic()

    def end_pause(self) -> None:
        """End the wait: the user requested the next dialog."""
        self._last = None

    @property
    def remaining(self) -> float:
        """Seconds until a pause, if no other key comes; 0 if the user is not typing."""
        if self._last is None:
            return 0.0
        return max(self._last + PAUSE_SECONDS - self._clock.monotonic(), 0.0)

    async def wait(self) -> None:
        """Wait until the user stops typing."""
        while remaining := self.remaining:
            await self._clock.sleep(remaining)


OnAction: TypeAlias = Callable[[str], bool]
"""Handles an action of the application; returns whether it was handled."""

_CLOSES_POPUP = "tui.select.cancel"
_HISTORY = {"tui.editor.historyPrevious", "tui.editor.historyNext"}


class PromptEditor:
    """An editor that calls ``on_action`` before it handles a key.

    ``on_key`` is called for every key before that; returns whether it handled it.
    """

    def __init__(self, editor: EditorProtocol, keymap: Keymap, typing: TypingDetector) -> None:
        self.editor = editor
        self.on_action: OnAction = lambda action: False
        self.on_key: Callable[[str], bool] = lambda data: False
        self.on_paste: Callable[[str], bool] = lambda text: False
        """Handles a pasted text; returns False for plain text, which the editor inserts."""
        self._keymap = keymap
        self._typing = typing
        self._held: list[str] | None = None
        """Keys held back while a paste is read."""
        self._width = 80

    @property
    def focused(self) -> bool:
        """Whether the cursor is shown."""
        return self.editor.focused

    @focused.setter
    def focused(self, focused: bool) -> None:
        self.editor.focused = focused

    def invalidate(self) -> None:
        """Invalidate the cached rows."""
        self.editor.invalidate()

    def render(self, width: int) -> list[str]:
        """Return the rows of the editor."""
        self._width = width
        return self.editor.render(width)

    @property
    def transient_rows(self) -> int:
        """How many of the editor's rows are transient."""
        rows: int = getattr(self.editor, "transient_rows", 0)
        return rows

    def handle_input(self, data: str) -> None:
        """Handle a key in the application, or else in the editor."""
        if self._held is not None:
            self._held.append(data)
            return
        if data.startswith(PASTE_START) and self.on_paste(_strip_paste_marks(data)):
            return
        if self.on_key(data):
            self._typing.end_pause()
            return
        actions = self._keymap.actions(data)
        captures: Callable[[str], bool] | None = getattr(self.editor, "captures", None)
        if captures is not None and captures(data):
            self._typing.typed()
            self.editor.handle_input(data)
            return
        if _HISTORY.isdisjoint(actions):
            # Ctrl+C clears the text even if suggestions are open: otherwise the text stays, and the
            # next prompt is appended to it.
            clears = "app.clear" in actions and self.editor.get_text()
            if _CLOSES_POPUP in actions and not clears and self._closed_popup(data):
                return
            for action in actions:
                if action.startswith("app.") and self.on_action(action):
                    self._typing.end_pause()
                    return
        self._typing.typed()
        self.editor.handle_input(data)

    def hold(self) -> Callable[[], None]:
        """Hold keys back until the returned function is called, so that they follow the paste."""
        held = self._held = []

        def release() -> None:
            self._held = None
            for data in held:
                self.handle_input(data)

        return release

    def handle_mouse(self, event: MouseEvent) -> MouseResult | None:
        """Pass the mouse event to the editor."""
        return self.editor.handle_mouse(event)

    def _closed_popup(self, data: str) -> bool:
        """Whether the key only closed the suggestions, which only frees rows."""
        before = len(self.editor.render(self._width))
        self.editor.handle_input(data)
        return len(self.editor.render(self._width)) < before


def _strip_paste_marks(data: str) -> str:
    return data.removeprefix(PASTE_START).removesuffix(PASTE_END)

"""The editor with the keys of the application: those that mean something here never reach it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeAlias

from pi.base.clock import Clock
from pi.tui.completion.provider import Provider
from pi.tui.input.decoder import PASTE_END, PASTE_START
from pi.tui.input.keymap import Keymap
from pi.tui.style import Paint

if TYPE_CHECKING:
    from pi.tui.mouse import MouseEvent, MouseResult


# What the composer needs of an editor: the usual one has it, and an extension's may.


class EditorProtocol(Protocol):
    """An editor; see ``pi.tui.widgets.editor.editor`` for what each member means."""

    on_submit: Callable[[str], None]
    on_change: Callable[[str], None]

    @property
    def focused(self) -> bool:
        """Whether the cursor is shown."""
        ...

    @focused.setter
    def focused(self, focused: bool) -> None: ...

    @property
    def label(self) -> str:
        """What stands in the upper border."""
        ...

    @label.setter
    def label(self, label: str) -> None: ...

    @property
    def border_color(self) -> Paint:
        """How the borders are painted."""
        ...

    @border_color.setter
    def border_color(self, paint: Paint) -> None: ...

    def get_text(self) -> str:
        """The text as it is shown."""
        ...

    def get_expanded_text(self) -> str:
        """The text as it will be submitted."""
        ...

    def set_text(self, text: str) -> None:
        """Replace the text."""
        ...

    def insert_text_at_cursor(self, text: str) -> None:
        """Insert text."""
        ...

    def add_to_history(self, text: str) -> None:
        """Make a prompt one that Up leads to."""
        ...

    def set_autocomplete_provider(self, provider: Provider) -> None:
        """Say who knows what could be meant."""
        ...

    def set_autocomplete_max_visible(self, rows: int) -> None:
        """How many suggestions are visible at once."""
        ...

    def set_padding_x(self, columns: int) -> None:
        """Keep columns free on both sides of the text."""
        ...

    def handle_input(self, data: str) -> None:
        """Take one key or one paste."""
        ...

    def handle_mouse(self, event: MouseEvent) -> MouseResult | None:
        """Take a press of the mouse."""
        ...

    def invalidate(self) -> None:
        """Draw anew next time."""
        ...

    def render(self, width: int) -> list[str]:
        """The rows."""
        ...


# Whether somebody is writing: what asks unbidden waits until they pause.


PAUSE_SECONDS = 0.7
"""Longer than people leave between two keys of a sentence."""


class TypingDetector:
    """Knows when a key last went into what is being written.

    A dialog that came up under the fingers of its reader would swallow what they type, and an
    Enter that was meant to send a message would answer it.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last: float | None = None

    def typed(self) -> None:
        """A key went into the text."""
        self._last = self._clock.monotonic()

    def turned(self) -> None:
        """Whoever wrote now wants something else: what asks next was called by them."""
        self._last = None

    @property
    def left(self) -> float:
        """Seconds until a pause, if no other key comes; 0 while nobody writes."""
        if self._last is None:
            return 0.0
        return max(self._last + PAUSE_SECONDS - self._clock.monotonic(), 0.0)

    async def wait(self) -> None:
        """Until nobody writes; at once if nobody does."""
        while left := self.left:
            await self._clock.sleep(left)


OnAction: TypeAlias = Callable[[str], bool]
"""Told an action of the application; whether it did something."""

_CLOSES_POPUP = "tui.select.cancel"
_HISTORY = {"tui.editor.historyPrevious", "tui.editor.historyNext"}


class PromptEditor:
    """An editor that asks ``on_action`` before it takes a key.

    ``on_key`` is asked about every key before that; whether it took it.
    """

    def __init__(self, editor: EditorProtocol, keymap: Keymap, typing: TypingDetector) -> None:
        self.editor = editor
        self.on_action: OnAction = lambda action: False
        self.on_key: Callable[[str], bool] = lambda data: False
        self.on_paste: Callable[[str], bool] = lambda text: False
        """Asked about a pasted text; whether it was something else than text."""
        self._keymap = keymap
        self._typing = typing
        self._held: list[str] | None = None
        """Keys that wait behind something that is still being read."""
        self._width = 80

    @property
    def focused(self) -> bool:
        """Whether the cursor is shown."""
        return self.editor.focused

    @focused.setter
    def focused(self, focused: bool) -> None:
        self.editor.focused = focused

    def invalidate(self) -> None:
        """Draw anew next time."""
        self.editor.invalidate()

    def render(self, width: int) -> list[str]:
        """The editor."""
        self._width = width
        return self.editor.render(width)

    @property
    def transient_rows(self) -> int:
        """How many of the editor's rows go away soon, if it knows."""
        rows: int = getattr(self.editor, "transient_rows", 0)
        return rows

    def handle_input(self, data: str) -> None:
        """Do what the key means in the application, or else in the editor."""
        if self._held is not None:
            self._held.append(data)
            return
        if data.startswith(PASTE_START) and self.on_paste(_pasted(data)):
            return
        if self.on_key(data):
            self._typing.turned()
            return
        actions = self._keymap.actions(data)
        if _HISTORY.isdisjoint(actions):
            if _CLOSES_POPUP in actions and self._closed_popup(data):
                return
            for action in actions:
                if action.startswith("app.") and self.on_action(action):
                    self._typing.turned()
                    return
        self._typing.typed()
        self.editor.handle_input(data)

    def hold(self) -> Callable[[], None]:
        """Let keys wait until what is given is called: they come behind what is being read."""
        held = self._held = []

        def release() -> None:
            self._held = None
            for data in held:
                self.handle_input(data)

        return release

    def handle_mouse(self, event: MouseEvent) -> MouseResult | None:
        """Let the editor have the mouse."""
        return self.editor.handle_mouse(event)

    def _closed_popup(self, data: str) -> bool:
        """Whether the key closed suggestions: they take rows, and nothing else changes with it."""
        before = len(self.editor.render(self._width))
        self.editor.handle_input(data)
        return len(self.editor.render(self._width)) < before


def _pasted(data: str) -> str:
    return data.removeprefix(PASTE_START).removesuffix(PASTE_END)

"""The keys that clear what is written, and that lead out: they work from the first frame on."""

from __future__ import annotations

from collections.abc import Callable

from pi.base.clock import Clock
from pi.modes.interactive.composer.composer import Composer
from pi.modes.interactive.double_press import DoublePress
from pi.tui.input.keymap import Keymap


class Leaving:
    """Ctrl+C clears and leaves when pressed twice, Ctrl+D leaves where nothing is written.

    ``tell`` says something in passing.
    """

    def __init__(
        self,
        composer: Composer,
        keymap: Keymap,
        *,
        clock: Clock,
        tell: Callable[[str], None],
        quit: Callable[[], None],
    ) -> None:
        self._composer = composer
        self._keymap = keymap
        self._tell = tell
        self._quit = quit
        self._presses = DoublePress(clock)

    def act(self, action: str) -> bool:
        """Do what an action says; whether it is one of these and meant something."""
        match action:
            case "app.clear":
                self._clear()
                return True
            case "app.exit" if not self._composer.text:
                self._quit()
                return True
        return False

    def _clear(self) -> None:
        if self._presses.is_second():
            self._quit()
        elif self._composer.text:
            self._composer.take()  # Up brings it back
        else:
            self._tell(f"Press {self._keymap.keys('app.clear')[0]} twice quickly to exit.")

"""A loader that Escape ends."""

from __future__ import annotations

from collections.abc import Callable

from pi.tui.input.keymap import Keymap
from pi.tui.style import Paint, unpainted
from pi.tui.widgets.loader import Loader


class CancellableLoader(Loader):
    """A ``Loader`` that takes the focus and calls ``on_cancel``, once, when the user gives up."""

    def __init__(
        self,
        message: str = "Loading...",
        *,
        on_cancel: Callable[[], None],
        keymap: Keymap | None = None,
        paint_spinner: Paint = unpainted,
        paint_message: Paint = unpainted,
    ) -> None:
        super().__init__(message, paint_spinner=paint_spinner, paint_message=paint_message)
        self.is_cancelled = False
        self._on_cancel = on_cancel
        self._keymap = keymap or Keymap()

    def handle_input(self, data: str) -> None:
        """Listens to the key that cancels, and to nothing else."""
        if not self.is_cancelled and self._keymap.matches(data, "tui.select.cancel"):
            self.is_cancelled = True
            self._on_cancel()

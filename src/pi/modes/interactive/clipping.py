"""What goes from the clipboard into the editor, and from the screen to the clipboard."""

from __future__ import annotations

from pi.base.errors import PiError
from pi.modes.interactive.composer.clipboard_reading import asker, read_clipboard
from pi.modes.interactive.composer.composer import Composer
from pi.modes.interactive.startup import Start
from pi.modes.interactive.ui import Ui


class Clipping:
    """Pastes and copies for the person, and says what came of it."""

    def __init__(self, start: Start, ui: Ui, composer: Composer) -> None:
        self._start = start
        self._ui = ui
        self._composer = composer

    async def paste(self) -> None:
        """Put the picture on the clipboard into the message, or else its text."""
        environ = self._start.environ
        found = await read_clipboard(
            asker(environ, self._start.cwd), system=self._start.system, env=environ
        )
        if found is None:
            self._ui.notify("There is nothing on the clipboard that could be pasted.")
        elif isinstance(found, str):
            self._composer.insert(found)
        else:
            self._composer.attach(found)

    def copy_selected(self, text: str) -> None:
        """Copy what was marked with the mouse, if the person wants that."""
        if self._ui.port.settings.values.fullscreen_copy_on_select:
            self._ui.tasks.start(self._copy(text), name="copying")

    async def _copy(self, text: str) -> None:
        try:
            await self._ui.clipboard.copy(text)
        except PiError as problem:
            self._ui.notify(problem.explain(), "error")
        else:
            self._ui.notify("Copied.", "success")

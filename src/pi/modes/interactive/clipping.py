"""What goes from the clipboard or by drag and drop into the editor, and to the clipboard."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from pi.ai.messages import Image
from pi.base.errors import PiError
from pi.coding.models.patterns import full_name
from pi.coding.runtime.port import SessionPort
from pi.coding.tools.images import ImageLimits
from pi.modes.interactive.composer.clipboard_reading import asker, read_clipboard
from pi.modes.interactive.composer.composer import Composer
from pi.modes.interactive.composer.dropping import dropped, read_pictures
from pi.modes.interactive.startup import Start
from pi.modes.interactive.ui import Ui


class Clipping:
    """Pastes and copies for the person, and says what came of it.

    ``limits`` tells what pictures have to fit, ``why_unseen`` why the model would not see them.
    """

    def __init__(
        self,
        start: Start,
        ui: Ui,
        composer: Composer,
        *,
        limits: Callable[[], ImageLimits],
        why_unseen: Callable[[], str] = lambda: "",
    ) -> None:
        self._start = start
        self._limits = limits
        self._why_unseen = why_unseen
        self._ui = ui
        self._composer = composer

    async def paste(self) -> None:
        """Put the picture on the clipboard into the message, or else its text."""
        environ = self._start.environ
        try:
            found = await read_clipboard(
                asker(environ, self._start.cwd),
                system=self._start.system,
                env=environ,
                limits=self._limits(),
            )
        except PiError as problem:
            self._ui.notify(problem.explain(), "error")
            return
        if found is None:
            self._ui.notify("There is nothing on the clipboard that could be pasted.")
        elif isinstance(found, str):
            self._composer.insert(found)
        else:
            self._attach([found])

    def drop(self, text: str) -> bool:
        """Attach the pictures that a pasted text names; whether it may name some."""
        readings = dropped(text, self._start.home)
        if readings:
            # An Enter right behind them comes when they are there: it is to send them, too.
            release = self._composer.prompt.hold()
            work = self._read(text, readings, release)
            self._ui.tasks.start(work, name="reading pictures")
        return bool(readings)

    async def _read(
        self, text: str, readings: Sequence[Sequence[Path]], release: Callable[[], None]
    ) -> None:
        try:
            images = await asyncio.to_thread(read_pictures, readings, self._limits())
        except Exception:
            release()  # whoever types on is heard all the same
            raise
        self._attach(images)
        if not images:
            self._composer.insert(text)
        release()
        self._ui.request_render()

    def _attach(self, images: Sequence[Image]) -> None:
        for image in images:
            self._composer.attach(image)
        if images and (why := self._why_unseen()):
            self._ui.notify(why, "warning")

    def copy_selected(self, text: str) -> None:
        """Copy what was marked with the mouse, if the person wants that."""
        if self._ui.port.settings.values.fullscreen_copy_on_select:
            self.copy(text)

    def copy(self, text: str) -> None:
        """Copy a text, and say what came of it."""
        self._ui.tasks.start(self._copy(text), name="copying")

    async def _copy(self, text: str) -> None:
        try:
            await self._ui.clipboard.copy(text)
        except PiError as problem:
            self._ui.notify(problem.explain(), "error")
        else:
            self._ui.notify("Copied.", "success")


def why_unseen(port: SessionPort) -> str:
    """Why the model would not see a picture that goes with a message; nothing if it would."""
    model = port.models.current
    if port.settings.values.images.block_images:
        return "No picture is sent: the setting images.blockImages is on."
    if model is not None and not model.sees_images:
        return f"{full_name(model)} takes no pictures; it is only told that one was left out."
    return ""

"""Pastes text and images from the clipboard or by drag and drop; copies to the clipboard."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from pi.ai.messages import Image
from pi.coding.models.registry import full_name
from pi.coding.port.session import SessionPort
from pi.coding.tools.images import ImageLimits
from pi.modes.interactive.composer.clipboard import asker, read_clipboard
from pi.modes.interactive.composer.composer import Composer
from pi.modes.interactive.composer.dropped_files import dropped_images, read_pictures
from pi.modes.interactive.startup import AppOptions
from pi.modes.interactive.ui import Ui, report_errors

# Dropped files ------------------------------------------------------------------------------------


class PasteHandler:
    """Pastes and copies for the user, and reports the result.

    ``limits`` returns the maximum image size; ``unsupported_reason`` returns why the model would
    not see images, or an empty string.
    """

    def __init__(
        self,
        start: AppOptions,
        ui: Ui,
        composer: Composer,
        *,
        limits: Callable[[], ImageLimits],
        unsupported_reason: Callable[[], str] = lambda: "",
    ) -> None:
        self._start = start
        self._limits = limits
        self._why_unseen = unsupported_reason
        self._ui = ui
        self._composer = composer

    async def paste(self) -> None:
        """Paste the image on the clipboard, or else its text."""
        environ = self._start.environ
        with report_errors(self._ui):
            clipboard = await read_clipboard(
                asker(environ, self._start.cwd),
                system=self._start.system,
                env=environ,
                limits=self._limits(),
            )
            if clipboard is None:
                self._ui.notify("The clipboard has no text or image.")
            elif isinstance(clipboard, str):
                self._composer.insert(clipboard)
            else:
                self._attach([clipboard])

    def drop(self, text: str) -> bool:
        """Attach the images named by a pasted text; returns whether it may name some."""
        readings = dropped_images(text, self._start.home)
        if readings:
            # Keys are held back: an Enter after the paste must send the images too.
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
            release()  # release held keys even after an error
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
        """Copy the text selected with the mouse, if the setting is on."""
        if self._ui.port.settings.values.fullscreen_copy_on_select:
            self.copy(text)

    def copy(self, text: str) -> None:
        """Copy a text and report the result."""
        self._ui.tasks.start(self._copy(text), name="copying")

    async def _copy(self, text: str) -> None:
        with report_errors(self._ui):
            await self._ui.clipboard.copy(text)
            self._ui.notify("Copied.", "success")


def image_unsupported_reason(port: SessionPort) -> str:
    """Return why the model would not see an attached image; empty if it would."""
    model = port.models.current
    if port.settings.values.images.block_images:
        return "Images are not sent: the setting images.blockImages is on."
    if model is not None and not model.sees_images:
        return (
            f"{full_name(model)} does not support images; it only gets a note that one was omitted."
        )
    return ""

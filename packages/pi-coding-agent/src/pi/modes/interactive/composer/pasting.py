"""Pastes text and images from the clipboard or by drag and drop; copies to the clipboard."""

from __future__ import annotations

import asyncio
import base64
import re
import shlex
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pi.ai.messages import Image
from pi.base.errors import PiError
from pi.base.files import read_regular
from pi.base.processes import SpawnFailed, desktop_environment, run
from pi.coding.models.registry import full_name
from pi.coding.port.session import SessionPort
from pi.coding.tools.images import HEADER, ImageLimits, image_type, prepare_image
from pi.modes.interactive.composer.composer import Composer
from pi.modes.interactive.startup import AppOptions
from pi.modes.interactive.ui import Ui, report_errors
from pi.tui.input.actions import platform_of

# Clipboard ----------------------------------------------------------------------------------------


SECONDS = 3.0
MAX_CLIPBOARD_BYTES = 64 * 1024 * 1024

Ask = Callable[[Sequence[str]], Awaitable[bytes]]
"""Runs a program and returns its output; empty if it fails, is missing or times out."""

_POWERSHELL = (
    "Add-Type -AssemblyName System.Windows.Forms,System.Drawing;"
    "$i=[Windows.Forms.Clipboard]::GetImage();"
    "if($i){$m=New-Object IO.MemoryStream;$i.Save($m,[Drawing.Imaging.ImageFormat]::Png);"
    "[Convert]::ToBase64String($m.ToArray())}"
)
_APPLE_DATA = re.compile(rb"\xc2\xabdata PNGf([0-9A-F]+)\xc2\xbb")


async def read_clipboard(
    ask: Ask, *, system: str, env: Mapping[str, str], limits: ImageLimits | None = None
) -> Image | str | None:
    """Return the image on the clipboard, resized for a model, or else its text; ``None`` if empty.

    Raises ``PiError`` if there is only an unusable image.
    """
    limits = limits or ImageLimits()
    was_seen = False
    for command in _picture_commands(system, env):
        data = _decode_image(await ask(command))
        kind = image_type(data[:HEADER])
        if kind is not None:
            was_seen = True
            try:
                prepared = await asyncio.to_thread(prepare_image, data, kind, limits)
            except OSError:  # broken, or a format that Pillow does not support
                continue
            if prepared.image is not None:
                return prepared.image
    for command in _text_commands(system, env):
        if text := await ask(command):
            return text.decode("utf-8", "replace")
    if was_seen:
        raise PiError("The image on the clipboard is damaged or too large.")
    return None


def asker(env: Mapping[str, str], cwd: Path, *, seconds: float = SECONDS) -> Ask:
    """Return a function that runs clipboard programs, each for at most ``seconds``."""

    variables = desktop_environment(env)

    async def ask(command: Sequence[str]) -> bytes:
        try:
            done = await run(
                command, cwd=cwd, env=variables, timeout=seconds, max_output=MAX_CLIPBOARD_BYTES
            )
        except SpawnFailed:
            return b""
        return done.output if done.ok and not (done.truncated or done.timed_out) else b""

    return ask


def _picture_commands(system: str, env: Mapping[str, str]) -> Iterator[Sequence[str]]:
    if system == "darwin":
        yield "osascript", "-e", "the clipboard as \u00abclass PNGf\u00bb"
    if platform_of(system, env) in ("windows", "wsl"):
        yield "powershell.exe", "-NoProfile", "-NonInteractive", "-STA", "-Command", _POWERSHELL
    for kind in ("image/png", "image/jpeg", "image/bmp"):
        if env.get("WAYLAND_DISPLAY"):
            yield "wl-paste", "--no-newline", "--type", kind
        if env.get("DISPLAY"):
            yield "xclip", "-selection", "clipboard", "-target", kind, "-out"


def _text_commands(system: str, env: Mapping[str, str]) -> Iterator[Sequence[str]]:
    if system == "darwin":
        yield ("pbpaste",)
    if platform_of(system, env) in ("windows", "wsl"):
        yield "powershell.exe", "-NoProfile", "-Command", "Get-Clipboard -Raw"
    if env.get("WAYLAND_DISPLAY"):
        yield "wl-paste", "--no-newline"
    if env.get("DISPLAY"):
        yield "xclip", "-selection", "clipboard", "-out"


def _decode_image(data: bytes) -> bytes:
    """Decode the image bytes in the output of a program."""
    if match := _APPLE_DATA.search(data):
        return bytes.fromhex(match[1].decode())
    if data[:6] == b"iVBORw":  # base64 of a PNG
        try:
            return base64.b64decode(data)
        except ValueError:
            return b""
    return data


# Dropped files ------------------------------------------------------------------------------------


MAX_DROPPED_BYTES = 64 * 1024 * 1024
MAX_TEXT = 20_000
"""Maximum length of the paths of dropped files."""
_ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp")


def dropped_images(text: str, home: Path) -> list[tuple[Path, ...]]:
    """Return the images a pasted text may name, for each way of parsing it.

    Terminals paste the paths of dropped files in different ways: a path with spaces may be
    unquoted, quoted, escaped, or a ``file:`` address. Pure.
    """
    if not text.rstrip(" \n'\"").lower().endswith(_ENDINGS):
        return []  # the quick check that rejects nearly all pasted text
    readings = [_pictures([text.strip()], home)]
    with suppress(ValueError):  # unclosed quotation mark: not written by a terminal
        readings.append(_pictures(shlex.split(text[:MAX_TEXT]), home))
    return [paths for paths in readings if paths]


def read_pictures(readings: Sequence[Sequence[Path]], limits: ImageLimits) -> list[Image]:
    """Return the images of the first parse whose files are all images. Blocks."""
    for paths in readings:
        candidates = [_read(path, limits) for path in paths]
        images = [image for image in candidates if image is not None]
        if len(images) == len(paths):
            return images
    return []


def _pictures(tokens: Sequence[str], home: Path) -> tuple[Path, ...]:
    """Return the words as paths, if each is the path of an image."""
    paths = tuple(_path(word, home) for word in tokens)
    if all(path.is_absolute() and path.suffix.lower() in _ENDINGS for path in paths):
        return paths
    return ()


def _path(word: str, home: Path) -> Path:
    if word.startswith("file:"):
        with suppress(ValueError):  # an invalid address
            return Path(unquote(urlsplit(word).path))
    if word.startswith("~/"):
        return home / word[2:]
    return Path(word)


def _read(path: Path, limits: ImageLimits) -> Image | None:
    try:
        data = read_regular(path, max_bytes=MAX_DROPPED_BYTES)
    except (OSError, ValueError):  # not readable, or not a path
        return None
    kind = image_type(data[:HEADER])
    return prepare_image(data, kind, limits).image if kind is not None else None


# Pasting and copying ------------------------------------------------------------------------------


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

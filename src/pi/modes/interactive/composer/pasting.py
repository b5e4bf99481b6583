"""What goes from the clipboard or by drag and drop into the editor, and to the clipboard."""

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
from pi.modes.interactive.ui import Ui
from pi.tui.input.actions import platform_of

# What is on the person's clipboard: a picture, or else text. Nothing here waits for long.


SECONDS = 3.0
MAX_CLIPBOARD_BYTES = 64 * 1024 * 1024

Ask = Callable[[Sequence[str]], Awaitable[bytes]]
"""Runs a program and gives what it writes; nothing if it fails, is not there or takes too long."""

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
    """The picture on the clipboard, made fit for a model, else its text, else nothing.

    Raises ``PiError`` if there is only a picture that cannot be used.
    """
    limits = limits or ImageLimits()
    was_seen = False
    for command in _picture_commands(system, env):
        data = _decoded(await ask(command))
        kind = image_type(data[:HEADER])
        if kind is not None:
            was_seen = True
            try:
                prepared = await asyncio.to_thread(prepare_image, data, kind, limits)
            except OSError:  # broken, or a kind that Pillow does not know
                continue
            if prepared.image is not None:
                return prepared.image
    for command in _text_commands(system, env):
        if text := await ask(command):
            return text.decode("utf-8", "replace")
    if was_seen:
        raise PiError("The picture on the clipboard is damaged, or too large to be sent.")
    return None


def asker(env: Mapping[str, str], cwd: Path, *, seconds: float = SECONDS) -> Ask:
    """Runs clipboard programs for real, each for at most ``seconds``."""

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


def _decoded(data: bytes) -> bytes:
    """The bytes of a picture, however the program wrote them."""
    if found := _APPLE_DATA.search(data):
        return bytes.fromhex(found[1].decode())
    if data[:6] == b"iVBORw":  # base64 of a PNG
        try:
            return base64.b64decode(data)
        except ValueError:
            return b""
    return data


# Files that are dropped on the terminal: it pastes their paths, each terminal in its own way.


MAX_DROPPED_BYTES = 64 * 1024 * 1024
MOST_TEXT = 20_000
"""Characters that the paths of dropped files may take."""
_ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp")


def dropped(text: str, home: Path) -> list[tuple[Path, ...]]:
    """The pictures that a pasted text may name, in each way of reading it; none if it names none.

    A path with spaces may come as it is, quoted, escaped, or as a ``file:`` address. Pure.
    """
    if not text.rstrip(" \n'\"").lower().endswith(_ENDINGS):
        return []  # what is said most often of a pasted text, however long it is
    readings = [_pictures([text.strip()], home)]
    with suppress(ValueError):  # a quotation mark that is never closed: no shell has written that
        readings.append(_pictures(shlex.split(text[:MOST_TEXT]), home))
    return [paths for paths in readings if paths]


def read_pictures(readings: Sequence[Sequence[Path]], limits: ImageLimits) -> list[Image]:
    """The pictures of the first reading whose files are all pictures; else nothing. Blocks."""
    for paths in readings:
        found = [_read(path, limits) for path in paths]
        images = [image for image in found if image is not None]
        if len(images) == len(paths):
            return images
    return []


def _pictures(words: Sequence[str], home: Path) -> tuple[Path, ...]:
    """The words as paths, if every one of them is the path of a picture."""
    paths = tuple(_path(word, home) for word in words)
    if all(path.is_absolute() and path.suffix.lower() in _ENDINGS for path in paths):
        return paths
    return ()


def _path(word: str, home: Path) -> Path:
    if word.startswith("file:"):
        with suppress(ValueError):  # an address that nobody could open
            return Path(unquote(urlsplit(word).path))
    if word.startswith("~/"):
        return home / word[2:]
    return Path(word)


def _read(path: Path, limits: ImageLimits) -> Image | None:
    try:
        data = read_regular(path, max_bytes=MAX_DROPPED_BYTES)
    except (OSError, ValueError):  # not ours to read, or no path at all
        return None
    kind = image_type(data[:HEADER])
    return prepare_image(data, kind, limits).image if kind is not None else None


class PasteHandler:
    """Pastes and copies for the person, and says what came of it.

    ``limits`` tells what pictures have to fit, ``image_unsupported_reason`` why the model would
    not see them.
    """

    def __init__(
        self,
        start: AppOptions,
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


def image_unsupported_reason(port: SessionPort) -> str:
    """Why the model would not see a picture that goes with a message; nothing if it would."""
    model = port.models.current
    if port.settings.values.images.block_images:
        return "No picture is sent: the setting images.blockImages is on."
    if model is not None and not model.sees_images:
        return f"{full_name(model)} takes no pictures; it is only told that one was left out."
    return ""

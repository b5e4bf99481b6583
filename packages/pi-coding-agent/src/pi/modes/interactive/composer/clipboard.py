"""Reads text and pictures from the clipboard of the machine."""

from __future__ import annotations

import asyncio
import base64
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path

from pi.ai.messages import Image
from pi.base.errors import PiError
from pi.base.processes import SpawnFailed, desktop_environment, run
from pi.coding.tools.images import HEADER, ImageLimits, image_type, prepare_image
from pi.tui.input.actions import platform_of

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

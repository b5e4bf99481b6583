"""What is on the person's clipboard: a picture, or else text. Nothing here waits for long."""

from __future__ import annotations

import asyncio
import base64
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path

from pi.ai.messages import Image
from pi.base.errors import PiError
from pi.base.processes import SpawnFailed, desktop_environment, run
from pi.coding.tools.image_types import HEADER, image_type
from pi.coding.tools.images import ImageLimits, prepare_image
from pi.tui.input.actions import platform_of

SECONDS = 3.0
MOST_BYTES = 64 * 1024 * 1024

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
                command, cwd=cwd, env=variables, timeout=seconds, max_output=MOST_BYTES
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

from __future__ import annotations

import base64
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image as Pillow

from pi.ai.messages import Image
from pi.base.errors import PiError
from pi.modes.interactive.composer.clipboard import Ask, asker, read_clipboard


def picture(form: str) -> bytes:
    output = BytesIO()
    Pillow.new("RGB", (2, 2), "red").save(output, form)
    return output.getvalue()


def answering(answers: dict[str, bytes], commands: list[Sequence[str]] | None = None) -> Ask:
    """Returns scripted output of programs, found by a word of their command."""

    async def ask(command: Sequence[str]) -> bytes:
        if commands is not None:
            commands.append(command)
        return next((data for word, data in answers.items() if word in command), b"")

    return ask


async def test_a_picture_is_read_on_wayland_and_x11() -> None:
    png = picture("PNG")
    expected = Image(data=base64.b64encode(png).decode(), mime_type="image/png")
    for env in ({"WAYLAND_DISPLAY": "w"}, {"DISPLAY": ":0"}):
        clipboard = await read_clipboard(answering({"image/png": png}), system="linux", env=env)
        assert clipboard == expected


@pytest.mark.behaviour("image-paste-never-hangs")
async def test_a_bitmap_of_wsl_is_converted() -> None:
    ask = answering({"image/bmp": picture("BMP")})

    clipboard = await read_clipboard(
        ask, system="linux", env={"WAYLAND_DISPLAY": "w", "WSL_DISTRO_NAME": "Debian"}
    )

    assert isinstance(clipboard, Image)
    assert clipboard.mime_type == "image/png"


async def test_macs_and_windows_write_pictures_as_text() -> None:
    png = picture("PNG")
    apple = "«data PNGf".encode() + png.hex().upper().encode() + "»".encode()
    expected = Image(data=base64.b64encode(png).decode(), mime_type="image/png")

    on_mac = await read_clipboard(answering({"osascript": apple}), system="darwin", env={})
    on_windows = await read_clipboard(
        answering({"powershell.exe": base64.b64encode(png)}), system="win32", env={}
    )

    assert (on_mac, on_windows) == (expected, expected)


@pytest.mark.behaviour("image-paste-never-hangs")
async def test_without_a_picture_there_is_text() -> None:
    ask = answering({"-out": b"", "--no-newline": "häh".encode()})

    clipboard = await read_clipboard(ask, system="linux", env={"WAYLAND_DISPLAY": "w"})

    assert clipboard == "häh"


async def test_a_broken_picture_is_reported_unless_there_is_text() -> None:
    broken = {"image/png": b"\x89PNG\r\n\x1a\nbroken"}

    with pytest.raises(PiError, match="is damaged"):
        await read_clipboard(answering(broken), system="linux", env={"DISPLAY": ":0"})
    clipboard = await read_clipboard(
        answering(broken | {"-out": b"words"}), system="linux", env={"DISPLAY": ":0"}
    )
    assert clipboard == "words"


@pytest.mark.behaviour("image-paste-never-hangs")
async def test_a_clipboard_program_that_hangs_or_is_missing_returns_nothing(tmp_path: Path) -> None:
    impatient = asker({"PATH": "/usr/bin:/bin"}, tmp_path, seconds=0.1)
    ask = asker({"PATH": "/usr/bin:/bin"}, tmp_path)

    assert await impatient(["sleep", "60"]) == b""
    assert await ask(["no-such-program"]) == b""
    assert await ask(["echo", "hello"]) == b"hello\n"


async def test_clipboard_programs_get_the_desktop_variables_and_no_api_keys(tmp_path: Path) -> None:
    ask = asker({"PATH": "/usr/bin:/bin", "DISPLAY": ":0", "MY_KEY": "key"}, tmp_path)

    assert b"DISPLAY=:0" in (seen := await ask(["env"]))
    assert b"MY_KEY" not in seen

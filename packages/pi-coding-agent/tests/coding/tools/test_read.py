from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as Pillow

from pi.agent.tools.tool import AgentTool, ToolFailed
from pi.ai.messages import Image, Text
from pi.coding.files.local import LocalFiles
from pi.coding.tools.file_tools import read_tool
from pi.coding.tools.images import ImageLimits
from tests.coding.tools.places import make, text_of, use


@pytest.fixture
def read(tmp_path: Path) -> AgentTool:
    return make(tmp_path, "read")


async def test_text_is_shown_as_it_is(read: AgentTool, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"\xef\xbb\xbfa\r\nb\0\xff\n")

    assert await text_of(read, path="f") == "\ufeffa\r\nb\0\ufffd\n"


async def test_a_limited_read_notes_how_to_continue(read: AgentTool, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("1\n2\n3\n")

    assert await text_of(read, path="f", offset=2, limit=1) == (
        "2\n\n[2 more lines in file. Use offset=3 to continue.]"
    )
    assert await text_of(read, path="f", offset="2", limit=3) == "2\n3\n"
    assert await text_of(read, path="f", limit=0) == (
        "\n\n[4 more lines in file. Use offset=1 to continue.]"
    )
    with pytest.raises(ToolFailed, match=r"^Offset 9 is beyond end of file \(4 lines total\)$"):
        await use(read, path="f", offset=9)


@pytest.mark.behaviour("long-line-can-be-read-on")
async def test_a_line_that_is_too_long_comes_with_a_command_that_shows_it(
    read: AgentTool, tmp_path: Path
) -> None:
    (tmp_path / "a b").write_text("short\n" + "x" * 60_000 + "\n")
    bash = make(tmp_path, "bash")

    text = await text_of(read, path="a b", offset=2)
    command = text.partition("Use bash: ")[2].removesuffix("]")

    assert text == (
        "[Line 2 is 58.6KB, exceeds 50.0KB limit. Use bash: sed -n '2p' 'a b' | head -c 51200]"
    )
    assert await text_of(bash, command=command) == "x" * 51_200
    assert "short\n\n[Showing lines 1-1 of 3" in await text_of(read, path="a b")


@pytest.mark.behaviour("long-line-can-be-read-on")
async def test_a_file_that_is_too_large_to_count_has_a_lower_bound(
    read: AgentTool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pi.coding.files.text.MAX_SCANNED_BYTES", 100_000)
    monkeypatch.setattr("pi.coding.files.text.CHUNK_BYTES", 50_000)
    (tmp_path / "f").write_text("x\n" * 100_000)
    (tmp_path / "line").write_text("x" * 200_000)

    text = await text_of(read, path="f")
    line = await text_of(read, path="line")

    assert text.endswith("[Showing lines 1-2000 of more than 75001. Use offset=2001 to continue.]")
    assert line.startswith("[Line 1 is more than 146.5KB, exceeds 50.0KB limit.")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("gone", "ENOENT: no such file or directory, access '{}/gone'"),
        ("file/below", "ENOTDIR: not a directory, access '{}/file/below'"),
        (".", "EISDIR: illegal operation on a directory, read"),
        ("loop", "ELOOP: too many symbolic links encountered, access '{}/loop'"),
        ("pipe", "Cannot read {}/pipe: it is a device or a pipe, not a regular file."),
        ("a\0b", "No file can have the name '{}/a\\x00b'."),
    ],
)
async def test_an_unreadable_path_fails_with_the_reason(
    read: AgentTool, tmp_path: Path, path: str, message: str
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(ToolFailed) as failed:
        await use(read, path=path)

    assert failed.value.message == message.format(tmp_path)


@pytest.mark.behaviour("image-type-from-content")
async def test_images_are_detected_by_their_content(read: AgentTool, tmp_path: Path) -> None:
    Pillow.new("RGB", (4, 3), "red").save(tmp_path / "picture.txt", "PNG")
    (tmp_path / "text.png").write_text("no picture")
    (tmp_path / "notes").write_text("GIF is a format")

    [note, picture] = (await use(read, path="picture.txt")).content

    assert note == Text(text="Read image file [image/png]")
    assert isinstance(picture, Image)
    assert await text_of(read, path="text.png") == "no picture"
    assert await text_of(read, path="notes") == "GIF is a format"


async def test_the_current_image_limits_are_used(tmp_path: Path) -> None:
    limits = [ImageLimits(max_width=8)]
    tool = read_tool(LocalFiles(lambda: tmp_path, home="/"), image_limits=lambda: limits[0])
    Pillow.new("RGB", (16, 4)).save(tmp_path / "a.png")

    small = await text_of(tool, path="a.png")
    limits[0] = ImageLimits()

    assert "displayed at 8x2. Multiply coordinates by 2.00" in small
    assert await text_of(tool, path="a.png") == "Read image file [image/png]"


@pytest.mark.behaviour("file-work-never-blocks")
async def test_files_are_not_read_in_the_thread_of_the_event_loop(
    read: AgentTool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = []
    real = os.open

    def opened(*arguments: Any, **options: Any) -> int:
        threads.append(threading.current_thread())
        return real(*arguments, **options)

    (tmp_path / "f").write_text("x")
    Pillow.new("RGB", (3000, 4)).save(tmp_path / "p.png")
    monkeypatch.setattr(os, "open", opened)

    await asyncio.gather(use(read, path="f"), use(read, path="p.png"))

    assert threads
    assert threading.main_thread() not in threads

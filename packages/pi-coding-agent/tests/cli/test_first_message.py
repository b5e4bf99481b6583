from __future__ import annotations

import asyncio
import io
import os
from pathlib import Path

import pytest
from PIL import Image as Picture

from pi.cli import first_prompt
from pi.cli.first_prompt import AttachedFiles, FileMissing, build_prompts
from pi.modes.headless import PromptInput


def prompts(
    tmp_path: Path, *messages: str, files: tuple[str, ...] = (), piped: str = ""
) -> list[PromptInput]:
    attached = asyncio.run(AttachedFiles(tmp_path, tmp_path / "home").read(files))
    return build_prompts(messages, attached, piped)


def png(width: int, height: int) -> bytes:
    data = io.BytesIO()
    Picture.new("RGB", (width, height), "red").save(data, "PNG")
    return data.getvalue()


def test_words_without_files_are_prompts_as_typed(tmp_path: Path) -> None:
    assert prompts(tmp_path, "one", "two") == [PromptInput(text="one"), PromptInput(text="two")]


def test_blank_input_is_no_prompt(tmp_path: Path) -> None:
    assert prompts(tmp_path, piped="  \n") == []


def test_piped_text_and_attached_files_come_before_the_first_message(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.txt").write_text("content\n")

    messages = prompts(tmp_path, "ask", "later", files=("a.txt",), piped="piped\n")

    assert messages == [
        PromptInput(text=f'piped\n\n<file name="{tmp_path}/a.txt">\ncontent\n\n</file>\nask'),
        PromptInput(text="later"),
    ]


def test_a_tilde_is_the_home_folder(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "a").write_bytes(b"\xff")

    assert prompts(tmp_path, files=("~/a",)) == [
        PromptInput(text=f'<file name="{tmp_path}/home/a">\n\ufffd\n</file>\n')
    ]


def test_an_attached_picture_is_sent_and_a_large_one_with_its_original_size(tmp_path: Path) -> None:
    (tmp_path / "small.png").write_bytes(png(2, 2))
    (tmp_path / "large.png").write_bytes(png(4000, 10))

    (message,) = prompts(tmp_path, "look", files=("small.png", "large.png"))

    assert [image.mime_type for image in message.images] == ["image/png", "image/png"]
    assert message.text == (
        f'<file name="{tmp_path}/small.png"></file>\n<file name="{tmp_path}/large.png"></file>'
        "\nlook\n\n[Image: original 4000x10, displayed at 2000x5."
        " Multiply coordinates by 2.00 to map to original image.]"
    )


def test_a_missing_file_is_named_with_its_whole_path(tmp_path: Path) -> None:
    with pytest.raises(FileMissing) as caught:
        prompts(tmp_path, "ask", files=("no.txt",))

    assert caught.value.message == f"File not found: {tmp_path}/no.txt"


def test_attaching_a_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileMissing) as caught:
        prompts(tmp_path, files=(".",))

    assert caught.value.message == f"Cannot read {tmp_path}: Is a directory"


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs a file without end")
def test_a_file_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_prompt, "LARGEST", 1 << 20)

    with pytest.raises(FileMissing, match="Cannot read /dev/zero: larger than 1 MiB"):
        prompts(tmp_path, "x", files=("/dev/zero",))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
async def test_a_named_pipe_is_waited_for_without_blocking_the_loop_and_read_once(
    tmp_path: Path,
) -> None:
    os.mkfifo(tmp_path / "pipe")
    files = AttachedFiles(tmp_path, tmp_path)
    reading = asyncio.create_task(files.read(["pipe"]))
    await asyncio.sleep(0)  # returns: the loop is free while the pipe has no writer

    await asyncio.to_thread((tmp_path / "pipe").write_text, "content")
    async with asyncio.timeout(60):
        first, again = await reading, await files.read(["pipe"])

    assert "content" in first[0].text
    assert again == first

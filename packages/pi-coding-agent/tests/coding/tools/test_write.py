from __future__ import annotations

import os
from pathlib import Path

import pytest

from pi.agent.tools.tool import AgentTool, FilePreview, ToolFailed, ToolResult
from pi.ai.messages import Text
from tests.coding.tools.places import make, use


@pytest.fixture
def write(tmp_path: Path) -> AgentTool:
    return make(tmp_path, "write")


@pytest.mark.behaviour("write-reports-truth")
@pytest.mark.parametrize("content", ["", "no end", "ümläut €\r\n\0", "\ufeffbom\n"])
async def test_a_file_holds_exactly_what_was_given(
    write: AgentTool, tmp_path: Path, content: str
) -> None:
    result = await use(write, path="a/b", content=content)

    assert result == ToolResult.of("Successfully wrote to a/b")
    assert (tmp_path / "a/b").read_bytes() == content.encode()


async def test_a_lone_surrogate_is_written_as_a_replacement_character(
    write: AgentTool, tmp_path: Path
) -> None:
    await use(write, path="f", content="half \ud83d, whole \ud83d\ude00")

    assert (tmp_path / "f").read_text("utf-8") == "half \ufffd, whole \U0001f600"


@pytest.mark.behaviour("write-reports-truth")
@pytest.mark.parametrize(
    ("path", "content", "message"),
    [
        ("folder", "x", "EISDIR: illegal operation on a directory, open '{}/folder'"),
        ("file/below/f", "x", "ENOTDIR: not a directory, mkdir '{}/file/below'"),
        ("new/", "x", "EISDIR: illegal operation on a directory, open '{}/new/'"),
        ("link", "x", "ENOENT: no such file or directory, open '{}/link'"),
        ("pipe", "x", "Cannot write {}/pipe: it is not a regular file."),
        ("a\0b", "x", "Cannot write 'a\\x00b': no file can have this name."),
    ],
)
async def test_a_failed_write_is_reported(
    write: AgentTool, tmp_path: Path, path: str, content: str, message: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("gone/f")
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(ToolFailed) as failed:
        await use(write, path=path, content=content)

    assert failed.value.message == message.format(tmp_path)


@pytest.mark.behaviour("elision-is-never-written")
async def test_a_file_that_was_read_in_part_is_not_overwritten_with_that_part(
    write: AgentTool, tmp_path: Path
) -> None:
    (tmp_path / "f").write_text("line\n" * 3000)
    seen = await use(make(tmp_path, "read"), path="f")
    part = "".join(block.text for block in seen.content if hasattr(block, "text"))

    with pytest.raises(ToolFailed, match=r"Nothing was written: the line '\[Showing lines"):
        await use(write, path="f", content=part)

    assert (tmp_path / "f").read_text() == "line\n" * 3000


async def test_a_marker_that_was_in_the_file_before_may_stay(
    write: AgentTool, tmp_path: Path
) -> None:
    text = "// ... existing code ...\n"
    (tmp_path / "f").write_text(text)

    await use(write, path="f", content=f"new\n{text}")

    assert (tmp_path / "f").read_text() == f"new\n{text}"


@pytest.mark.behaviour("edits-are-serialised")
def test_touches_returns_the_real_path_of_the_changed_file(
    write: AgentTool, tmp_path: Path
) -> None:
    (tmp_path / "real").touch()
    (tmp_path / "link").symlink_to("real")
    edit = make(tmp_path, "edit")
    assert write.touches is not None
    assert edit.touches is not None

    files = {
        *write.touches(write.validate({"path": "link", "content": ""})),
        *edit.touches(edit.validate({"path": "@real", "edits": []})),
    }

    assert files == {os.path.realpath(tmp_path / "real")}


@pytest.mark.parametrize(
    ("arguments", "preview"),
    [
        ({}, None),
        ({"path": "f"}, None),
        ({"path": "f", "content": "on"}, FilePreview(path="f", added="on")),
    ],
)
def test_a_preview_shows_the_content_received_so_far(
    write: AgentTool, arguments: dict[str, str], preview: FilePreview | None
) -> None:
    assert write.preview is not None

    assert write.preview(arguments) == preview


async def test_a_link_out_of_the_working_folder_is_named(
    tmp_path: Path,
) -> None:
    project, outside = tmp_path / "project", tmp_path / "outside"
    project.mkdir()
    outside.mkdir()
    (project / "link").symlink_to(outside)
    (project / "inside").symlink_to(project / "f")

    through = await use(make(project, "write"), path="link/f", content="old")
    edited = await use(
        make(project, "edit"), path="link/f", edits=[{"oldText": "old", "newText": "new"}]
    )
    inside = await use(make(project, "write"), path="inside", content="x")
    direct = await use(make(project, "write"), path=str(outside / "g"), content="x")

    note = f"\nNote: link/f is a link out of the working folder; the file is {outside}/f."
    assert through == ToolResult.of(f"Successfully wrote to link/f{note}")
    assert edited.content == (Text(text=f"Successfully replaced 1 block(s) in link/f.{note}"),)
    assert inside == ToolResult.of("Successfully wrote to inside")
    assert direct == ToolResult.of(f"Successfully wrote to {outside}/g")

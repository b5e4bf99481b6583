from __future__ import annotations

from pathlib import Path

import pytest

from pi.agent.tools.tool import AgentTool, ToolFailed, ToolResult
from tests.coding.tools.places import make, text_of, use


@pytest.fixture
def ls(tmp_path: Path) -> AgentTool:
    return make(tmp_path, "ls")


async def test_names_are_sorted_case_insensitively_and_folders_are_marked(
    ls: AgentTool, tmp_path: Path
) -> None:
    for name in ("b", "A", ".hidden", "B.txt"):
        (tmp_path / name).touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder", target_is_directory=True)
    (tmp_path / "loop").symlink_to("loop")

    assert await text_of(ls) == ".hidden\nA\nb\nB.txt\nfolder/\nlink/\nloop"
    assert await text_of(ls, path="folder") == "(empty directory)"


async def test_a_limit_is_reported_only_if_there_is_more(ls: AgentTool, tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).touch()

    assert await use(ls, limit=3) == ToolResult.of("a\nb\nc")
    assert await use(ls, limit=2) == ToolResult.of(
        "a\nb\n\n[2 entries limit reached. Use limit=4 for more]", details={"entryLimitReached": 2}
    )


@pytest.mark.parametrize(
    ("path", "message"), [("gone", "Path not found: {}/gone"), ("f", "Not a directory: {}/f")]
)
async def test_a_path_that_cannot_be_listed_fails_with_the_reason(
    ls: AgentTool, tmp_path: Path, path: str, message: str
) -> None:
    (tmp_path / "f").touch()

    with pytest.raises(ToolFailed) as failed:
        await use(ls, path=path)

    assert failed.value.message == message.format(tmp_path)

from __future__ import annotations

from pathlib import Path

import pytest

from pi.agent.tools.tool import AgentTool, ToolFailed, ToolResult
from tests.coding.tools.places import make, text_of, use


@pytest.fixture
def grep(tmp_path: Path) -> AgentTool:
    return make(tmp_path, "grep")


async def test_lines_around_matches_are_shown_once(grep: AgentTool, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("1\n2 x\r\n3\n4 x\n5\n6\n7 x\n")

    assert await text_of(grep, pattern="x", context=1) == (
        "f-1- 1\nf:2: 2 x\nf-3- 3\nf:4: 4 x\nf-5- 5\nf-6- 6\nf:7: 7 x\nf-8- "
    )


async def test_lines_around_matches_are_read_in_the_encoding_of_their_file(
    grep: AgentTool, tmp_path: Path
) -> None:
    (tmp_path / "f").write_bytes("1\n2 x".encode("utf-16"))

    assert await text_of(grep, pattern="x", context=1) == "f-1- 1\nf:2: 2 x"


async def test_any_number_of_lines_around_matches_may_be_asked_for(
    grep: AgentTool, tmp_path: Path
) -> None:
    (tmp_path / "f").write_text("1\n2 x\n3\n4 x\n")

    assert await text_of(grep, pattern="x", context=1e12, limit=1e12) == (
        "f-1- 1\nf:2: 2 x\nf-3- 3\nf:4: 4 x\nf-5- "
    )


async def test_notices_report_limits_and_truncated_lines(grep: AgentTool, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("".join(f"{'x' * 600}{n}\n" for n in range(3)))

    result = await use(grep, pattern="x", limit=2)

    line = "x" * 500 + "... [truncated]"
    assert result == ToolResult.of(
        f"f:1: {line}\nf:2: {line}\n\n"
        "[2 matches limit reached. Use limit=4 for more, or refine pattern. "
        "Some lines truncated to 500 chars. Use read tool to see full lines]",
        details={"matchLimitReached": 2, "linesTruncated": True},
    )


async def test_reaching_the_limit_exactly_is_not_reported(grep: AgentTool, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x\nx\n")

    assert await text_of(grep, pattern="x", limit=2) == "f:1: x\nf:2: x"


async def test_options_are_those_of_the_schema(grep: AgentTool, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("A.B\nacb\n")
    (tmp_path / "b.txt").write_text("a.b\n")

    assert await text_of(grep, pattern="a.b", ignoreCase=True, literal=True, glob="*.py") == (
        "a.py:1: A.B"
    )
    nothing = ToolResult.of("No matches found", useless=True)
    assert await use(grep, pattern="zzz", path="b.txt") == nothing
    with pytest.raises(ToolFailed, match=rf"^Path not found: {tmp_path}/gone$"):
        await use(grep, pattern="x", path="gone")

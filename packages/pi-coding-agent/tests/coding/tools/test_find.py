from __future__ import annotations

from pathlib import Path

import pytest

from pi.agent.tools.tool import AgentTool, ToolFailed, ToolResult
from pi.coding.tools.search_tools import name_matcher
from tests.coding.tools.places import make, text_of, use


@pytest.fixture
def find(tmp_path: Path) -> AgentTool:
    return make(tmp_path, "find")


@pytest.mark.behaviour("globs-and-ignore-files")
@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.py", ["a.py", "src/b.py", "src/deep/C.py", "x/src/d.py"]),
        ("src/*.py", ["src/b.py", "x/src/d.py"]),
        ("src/**/*.py", ["src/b.py", "src/deep/C.py", "x/src/d.py"]),
        ("./src/*.py", ["src/b.py", "x/src/d.py"]),
        ("**/deep/*", ["src/deep/C.py"]),
        ("/root/src/*.py", ["src/b.py"]),
        ("/root/**/d.py", ["x/src/d.py"]),
        ("/elsewhere/*.py", []),
        ("c.py", ["src/deep/C.py"]),
        ("C.py", ["src/deep/C.py"]),
        ("B.py", []),
        ("src", ["src/", "x/src/"]),
        ("deep/", ["src/deep/"]),
        ("a.py/", []),
        ("{a,b}.py", ["a.py", "src/b.py"]),
        ("-x", []),
    ],
)
def test_patterns_with_a_slash_match_paths_and_others_match_names(
    pattern: str, expected: list[str]
) -> None:
    paths = ["a.py", "src/", "src/b.py", "src/deep/", "src/deep/C.py", "x/src/", "x/src/d.py"]
    matches = name_matcher(pattern, Path("/root"))

    assert [path for path in paths if matches(path)] == expected


@pytest.mark.behaviour("globs-and-ignore-files")
def test_patterns_match_below_the_root_of_the_file_system() -> None:
    assert name_matcher("/etc/*.conf", Path("/"))("etc/x.conf")


async def test_results_are_sorted_and_a_reached_limit_is_reported(
    find: AgentTool, tmp_path: Path
) -> None:
    for name in ("b.py", "a.py", "c.py"):
        (tmp_path / name).touch()

    assert await use(find, pattern="*.py", limit=3) == ToolResult.of("a.py\nb.py\nc.py")
    assert await use(find, pattern="*.py", limit=2) == ToolResult.of(
        "a.py\nb.py\n\n[2 results limit reached. Use limit=4 for more, or refine pattern]",
        details={"resultLimitReached": 2},
    )
    assert await use(find, pattern="*.rs") == ToolResult.of(
        "No files found matching pattern", useless=True
    )


@pytest.mark.behaviour("pattern-is-not-a-flag")
async def test_a_pattern_that_looks_like_an_option_is_a_name(
    find: AgentTool, tmp_path: Path
) -> None:
    (tmp_path / "--help").touch()

    assert await text_of(find, pattern="--help") == "--help"


async def test_searching_a_path_that_is_not_a_folder_fails(find: AgentTool, tmp_path: Path) -> None:
    (tmp_path / "f").touch()

    for path in ("gone", "f"):
        with pytest.raises(ToolFailed, match=rf"Search path '{tmp_path}/{path}' is not a dir"):
            await use(find, pattern="*", path=path)

from __future__ import annotations

from pathlib import Path

import pytest

from pi.coding.resources import ignore
from pi.coding.resources.ignore import matching_paths
from tests.files import put


@pytest.mark.parametrize(
    ("pattern", "named"),
    [
        ("a.py", ["a.py"]),
        ("gone.py", []),
        ("*.py", [".b.py", "a.py"]),
        ("x/*/c.py", ["x/y/c.py"]),
        ("**/c.py", ["x/c.py", "x/y/c.py"]),
        ("**/y", ["x/y"]),
        ("x/**", ["x", "x/y"]),
        ("x/../a.py", ["x/../a.py"]),
        ("{a,.b}.py", [".b.py", "a.py"]),
        ("x//c.py", ["x/c.py"]),
    ],
)
def test_patterns_match_existing_paths(tmp_path: Path, pattern: str, named: list[str]) -> None:
    for name in ("a.py", ".b.py", "x/c.py", "x/y/c.py"):
        put(tmp_path / name, "")

    assert matching_paths(tmp_path, pattern) == [tmp_path / name for name in named]


@pytest.mark.parametrize("pattern", ["/etc/*", "{a,b}" * 99])
def test_absolute_and_too_large_patterns_are_refused(tmp_path: Path, pattern: str) -> None:
    with pytest.raises(ValueError, match=r"absolute|more than"):
        matching_paths(tmp_path, pattern)


@pytest.mark.parametrize(
    "pattern", ["**/" * 1000 + "x", "**/a/" * 700 + "x", "*/" * 40 + "x", "loop/" * 30 + "*"]
)
def test_no_pattern_visits_the_tree_repeatedly(
    tmp_path: Path, pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ignore, "MAX_TREE_ENTRIES", 2000)
    deep = tmp_path / "/".join(["a"] * 60)
    deep.mkdir(parents=True)
    for name in ("loop", "again"):
        (tmp_path / name).symlink_to(tmp_path, target_is_directory=True)

    assert [path.name for path in matching_paths(tmp_path, pattern) if path.name == "x"] == []

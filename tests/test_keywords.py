from __future__ import annotations

from pathlib import Path

import pytest

from tests.files import put
from tests.keywords import files_with


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    put(tmp_path / "test_logs.py", "def test_a_torn_line(): ...\n")
    put(tmp_path / "test_trees.py", "@mark.slow\ndef test_a_Leaf(): ...\n")
    return sorted(tmp_path.glob("*.py"))


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("torn", ["test_logs.py"]),
        ("TORN and line", ["test_logs.py"]),
        ("torn and leaf", None),
        ("torn or leaf", ["test_logs.py", "test_trees.py"]),
        ("trees", ["test_trees.py"]),
        ("slow", ["test_trees.py"]),
        ("leaf and not slow", ["test_trees.py"]),
        ("not torn", ["test_logs.py", "test_trees.py"]),
        ("leaf and not (torn or line)", None),
        ("an-identifier-that-is-computed", None),
        ("torn and (", None),
    ],
)
def test_files_that_an_expression_can_concern(
    files: list[Path], expression: str, names: list[str] | None
) -> None:
    chosen = files_with(expression, files)

    assert (None if chosen is None else sorted(path.name for path in chosen)) == names

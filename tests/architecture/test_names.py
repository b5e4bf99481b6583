from __future__ import annotations

from pathlib import Path

DRAWERS = {"utils", "helpers", "common", "misc", "manager"}


def test_no_module_is_a_drawer(root: Path) -> None:
    modules = [path for path in (root / "src").rglob("*.py") if path.stem in DRAWERS]
    folders = [path for path in (root / "src").rglob("*") if path.is_dir() and path.name in DRAWERS]

    assert [*modules, *folders] == []


def test_base_has_its_modules_and_no_more(root: Path) -> None:
    modules = {path.stem for path in (root / "src/pi/base").glob("[a-z]*")}

    assert modules == {
        "clock",
        "errors",
        "files",
        "fuzzy",
        "ids",
        "json_lines",
        "pictures",
        "processes",
        "records",
        "surrogates",
        "tasks",
        "terminal_text",
    }

from __future__ import annotations

from pathlib import Path

DATA: set[str] = {"__init__.py", "__main__.py"}
"""Modules that hold no behaviour of their own, by name or by path below src/pi."""


def untested(root: Path) -> list[str]:
    source, tests = root / "src/pi", root / "tests"
    missing = []
    for module in sorted(source.rglob("*.py")):
        relative = module.relative_to(source)
        if relative.name in DATA or str(relative) in DATA:
            continue
        if not (tests / relative.parent / f"test_{relative.stem}.py").is_file():
            missing.append(str(relative))
    return missing


def test_every_source_module_has_its_test_module(root: Path) -> None:
    assert untested(root) == []

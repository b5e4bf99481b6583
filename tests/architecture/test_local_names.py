"""Local names say what they hold: at most one in a hundred is a word that fits anything."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.workspace import ROOT, sources

VAGUE = """
asked at each found given heard here kept known left meant place places problem said shown taken
told wanted way ways where whole words
"""
"""Words that one function uses for a path, the next for a session and another for a count."""
MAX_SHARE = 0.01
"""Some are the exact term: the ``words`` of a language, the ``left`` of a margin."""


def bindings(tree: ast.AST) -> Iterator[str]:
    """Yield the names that code binds: variables, parameters, loop variables and captures."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield name.strip("_")
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name.strip("_")


def rooms() -> list[Path]:
    """Return the folders whose names are counted together: each layer and each battery."""
    folders = [child for source in sources(ROOT) for child in (source / "pi").iterdir()]
    layers = [folder for folder in folders if folder.is_dir() and folder.name != "batteries"]
    groups = [folder for folder in folders if folder.name == "batteries"]
    return sorted([*layers, *(battery for group in groups for battery in group.iterdir())])


@pytest.mark.parametrize("room", rooms(), ids=lambda room: room.name)
def test_local_names_say_what_they_hold(room: Path) -> None:
    counts = Counter(
        name
        for path in room.rglob("*.py")
        for name in bindings(ast.parse(path.read_text(encoding="utf-8")))
    )

    vague = {name: count for name, count in counts.items() if name in VAGUE.split()}
    assert sum(vague.values()) <= MAX_SHARE * counts.total(), vague


def test_each_kind_of_binding_is_counted() -> None:
    code = (
        "def f(place):\n for each in place: found = each\n match found:\n  case [at, *left]: pass"
    )

    assert sorted(bindings(ast.parse(code))) == ["at", "each", "found", "left", "place"]

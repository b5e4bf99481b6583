"""Journeys see pi from outside, or they would test its parts once more."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

FORBIDDEN_CALLS = {"import_module", "__import__", "runpy"}


def reached_modules(tree: ast.AST) -> Iterator[str]:
    """Yield what a module imports, and the names of functions that import."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=module, level=level):
                yield "." * level + (module or "")
            case ast.Name(id=name) | ast.Attribute(attr=name) if name in FORBIDDEN_CALLS:
                yield name
            case _:
                pass


def is_allowed(module: str) -> bool:
    """Whether a journey may import ``module``: other tests import pi themselves."""
    first, *inner = module.split(".")
    if first == "tests":
        return inner[:1] == ["journeys"]
    return first not in {"pi", "", *FORBIDDEN_CALLS}


def test_a_journey_imports_nothing_of_pi(root: Path) -> None:
    paths = sorted((root / "tests/journeys").rglob("*.py"))
    forbidden = {
        path.name: modules
        for path in paths
        if (
            modules := [
                module
                for module in reached_modules(ast.parse(path.read_text(encoding="utf-8")))
                if not is_allowed(module)
            ]
        )
    }

    assert paths
    assert forbidden == {}


@pytest.mark.parametrize(
    "code",
    [
        "import pi",
        "import os, pi.sdk as p",
        "def f():\n    from pi.testing import says",
        "from tests.cli.program import Program",
        "from . import conftest",
        "from importlib import import_module\nimport_module('pi')",
        "__import__('pi')",
        "import runpy",
    ],
)
def test_every_way_to_import_pi_is_noticed(code: str) -> None:
    assert not all(is_allowed(module) for module in reached_modules(ast.parse(code)))

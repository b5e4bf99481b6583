from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path


def undocumented(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    if not ast.get_docstring(tree):
        yield str(path)
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if not node.name.startswith("_") and not ast.get_docstring(node):
            yield f"{path}:{node.lineno} {node.name}"


def test_every_module_and_public_name_says_what_it_is(root: Path) -> None:
    found = [
        place
        for folder in ("src", "bench", "scripts")
        for path in sorted((root / folder).rglob("*.py"))
        for place in undocumented(path)
    ]

    assert found == []

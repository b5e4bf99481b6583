from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

from scripts.workspace import below_pi, source_files

PUBLIC_CLASS = re.compile(r"^class ([A-Za-z]\w*)", re.MULTILINE)
VAGUE = {"utils", "helpers", "common", "misc", "manager"}
DESCRIPTIVE = re.compile(
    r"(?:Adds|Applies|Calls|Clears|Closes|Converts|Creates|Decodes|Draws|Finds|Handles|Inserts"
    r"|Moves|Opens|Parses|Prints|Raises|Reads|Removes|Replaces|Returns|Runs|Sends|Sets|Shows|Starts"
    r"|Stores|Updates|Writes|Yields)\b(?! (?:of|that|which|with)\b)"
)
"""The first word of a docstring that describes (Returns) instead of commanding (Return)."""


def test_no_module_has_a_vague_name(root: Path) -> None:
    modules = [path for path in source_files(root) if path.stem in VAGUE]
    folders = [path for path in source_files(root, "*") if path.is_dir() and path.name in VAGUE]

    assert [*modules, *folders] == []


def test_no_module_stands_beside_a_package_of_the_same_name(root: Path) -> None:
    """The finders of Python and of pi.cli disagree about which of the two is imported."""
    modules = [
        path for path in source_files(root) if (path.with_suffix("") / "__init__.py").is_file()
    ]

    assert modules == []


def test_no_two_public_classes_of_a_layer_share_a_name(root: Path) -> None:
    """Wires are exempt: each has its own ``Compat`` and ``Chunk`` and imports no other wire."""
    places: dict[tuple[str, str], list[str]] = defaultdict(list)
    for path in source_files(root):
        place = below_pi(path)
        layer = place.parts[0].removesuffix(".py")
        unit = "/".join(place.parts[:3]) if place.parts[:2] == ("ai", "wire") else str(place)
        for name in PUBLIC_CLASS.findall(path.read_text(encoding="utf-8")):
            places[layer, name].append(unit)

    assert {
        f"{layer}: {name}": units
        for (layer, name), units in places.items()
        if len(units) > 1
        and (len(set(units)) < len(units) or not all(unit.startswith("ai/wire/") for unit in units))
    } == {}


def test_docstrings_of_functions_are_imperative(root: Path) -> None:
    found = [
        f"{path.relative_to(root)}: {word}"
        for path in source_files(root)
        for word in _descriptive_docstrings(path.read_text(encoding="utf-8"))
    ]

    assert found == []


def test_a_descriptive_docstring_is_found() -> None:
    text = 'class A:\n    def f(self) -> int:\n        """Returns one."""\n        return 1\n'

    assert _descriptive_docstrings(text) == ["Returns"]
    assert _descriptive_docstrings(text.replace("Returns", "Return")) == []
    assert _descriptive_docstrings(text.replace("Returns", "Moves of pieces:")) == []


def _descriptive_docstrings(text: str) -> list[str]:
    """The first words of docstrings of functions that are not imperative."""
    functions = (
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    found = (DESCRIPTIVE.match(ast.get_docstring(node) or "") for node in functions)
    return [match[0] for match in found if match]

"""Documentation and examples import only public packages, so that readers can copy them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from scripts.workspace import ROOT, folders_of_examples
from tests.architecture.test_docs_run import PAGES, program

PUBLIC = {
    "pi.agent",
    "pi.ai",
    "pi.ai.testing",
    "pi.extension",
    "pi.extension.guards",
    "pi.sdk",
    "pi.testing",
    "pi.tui",
}


def sources() -> Iterator[tuple[Path, str]]:
    """Yield the README, every page with code, and every example."""
    for page in (ROOT / "README.md", *PAGES):
        if (code := program(page.read_text(encoding="utf-8"))).strip():
            yield page, code
    for example in sorted(
        path for folder in folders_of_examples(ROOT) for path in folder.rglob("*.py")
    ):
        yield example, example.read_text(encoding="utf-8")


def imported(code: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom):
            yield node.module or ""
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@pytest.mark.parametrize(
    ("path", "code"), [pytest.param(path, code, id=path.name) for path, code in sources()]
)
def test_documentation_and_examples_import_only_public_packages(path: Path, code: str) -> None:
    ours = {name for name in imported(code) if name.partition(".")[0] == "pi"}
    # Page and examples of a package may show its modules; pi.tui has no other names.
    member = path.parent.parent if path.parent.name == "examples" else path.parent
    own = tuple(f"pi.{module.name}." for module in member.glob("src/pi/*"))

    assert {name for name in ours - PUBLIC if not name.startswith(own)} == set()


@pytest.mark.parametrize("package", ["pi.agent", "pi.extension", "pi.sdk"])
def test_the_names_for_writing_tools_are_exported_by_one_package(package: str) -> None:
    module = import_module(package)

    names = {"Meta", "Record", "ToolResult", "make_tool", "tool"}
    assert {name for name in names if not hasattr(module, name)} == set()

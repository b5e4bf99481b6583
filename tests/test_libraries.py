"""The public names of ``pi.agent`` and ``pi.ai``: what is promised, and what an import costs."""

from __future__ import annotations

import ast
import doctest
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import pi.agent
import pi.ai
from scripts.workspace import find_source


@pytest.mark.parametrize("package", [pi.agent, pi.ai])
def test_every_public_name_exists_and_is_no_module(package: ModuleType) -> None:
    assert [name for name in dir(package) if isinstance(getattr(package, name), ModuleType)] == []
    assert len(dir(package)) == len(set(dir(package)))


@pytest.mark.parametrize("package", ["agent", "ai"])
def test_type_checkers_see_the_same_names_at_the_same_places(root: Path, package: str) -> None:
    module = sys.modules[f"pi.{package}"]
    tree = ast.parse(find_source(root, f"{package}/__init__.py").read_text())
    deferred = next(node for node in tree.body if isinstance(node, ast.If))
    imported = {
        (node.module, alias.name)
        for node in deferred.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    assert imported == {(home, name) for home, names in module._HOMES.items() for name in names}


def test_the_example_of_the_library_runs() -> None:
    results = doctest.testmod(pi.ai)

    assert results.attempted > 0
    assert results.failed == 0


@pytest.mark.parametrize("package", ["pi.agent", "pi.ai"])
def test_an_unknown_name_raises_attribute_error(package: str) -> None:
    with pytest.raises(AttributeError, match=f"'{package}' has no attribute 'nothing'"):
        _ = sys.modules[package].nothing


def loaded(code: str) -> set[str]:
    """The modules of pi that are loaded after ``code``."""
    show = "import json, sys; print(json.dumps([n for n in sys.modules if n.startswith('pi')]))"
    finished = subprocess.run(
        [sys.executable, "-c", f"{code}\n{show}"], capture_output=True, text=True, check=True
    )
    return set(json.loads(finished.stdout))


def test_importing_the_agent_loads_nothing_else() -> None:
    lazy = {"pi.base", "pi.base.lazy_names"}

    assert loaded("import pi.agent") == {"pi", "pi.agent", *lazy}


def test_importing_the_models_loads_no_provider_no_pictures_and_no_http() -> None:
    heavy = {"pi.ai.factory", "pi.ai.http", "pi.ai.images", "pi.ai.wire", "pi.ai.auth"}

    assert heavy & loaded("import pi.ai") == set()


def test_functions_stay_functions_when_modules_of_their_names_are_loaded() -> None:
    loaded(
        "import pi.agent.tools.tool, pi.agent.proxy\n"
        "from pi.agent import stream_proxy, tool\n"
        "from pi.agent.tools.tool import ToolResult\n"
        "assert callable(tool) and callable(stream_proxy), (tool, stream_proxy)"
    )

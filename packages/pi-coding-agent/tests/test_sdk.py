"""The public Python API: what is promised, and that it costs nothing to import."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import pi.sdk
from scripts.workspace import find_source

OWN = [
    name
    for home, names in pi.sdk._HOMES.items()
    if not home.startswith("pi.batch")
    for name in names
]
"""All but those of ``pi-harness-batch``."""


@pytest.mark.parametrize("name", OWN)
def test_every_name_is_found_and_has_a_docstring(name: str) -> None:
    found = getattr(pi.sdk, name)

    assert getattr(found, "__doc__", None)
    assert pi.sdk.__dict__[name] is found


def test_type_checkers_see_the_same_names_at_the_same_places(root: Path) -> None:
    tree = ast.parse(find_source(root, "sdk/__init__.py").read_text())
    imported = {
        (node.module, alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pi.")
        for alias in node.names
        if alias.name != "lazy_names"
    }
    homes = {(module, name) for module, names in pi.sdk._HOMES.items() for name in names}

    assert imported == homes
    assert sorted(name for _, name in homes) == dir(pi.sdk)


def test_an_unknown_name_raises_attribute_error() -> None:
    with pytest.raises(AttributeError, match=r"'pi\.sdk' has no attribute 'nothing'"):
        _ = pi.sdk.nothing  # type: ignore[attr-defined]


def test_importing_the_sdk_loads_nothing_else_of_pi() -> None:
    code = "import sys, pi.sdk; print(*sorted(n for n in sys.modules if n.startswith('pi')))"
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)

    assert finished.stdout.split() == ["pi", "pi.base", "pi.base.lazy_names", "pi.sdk"]


def test_a_session_loads_no_screen_and_no_http_client(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from pi.sdk import create_agent_session, SessionManager\n"
        "import asyncio\n"
        "async def main():\n"
        "    made = await create_agent_session(session_manager=SessionManager.in_memory())\n"
        "    await made.session.dispose()\n"
        "asyncio.run(main())\n"
        "print(*[n for n in sys.modules if n.startswith(('pi.tui', 'pi.ai.http', 'PIL'))])\n"
    )
    finished = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True
    )

    assert (finished.stdout, finished.stderr) == ("\n", "")

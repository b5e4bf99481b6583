"""The API of extensions: what is promised."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import pi.extension
import pi.extension.guards
from pi.coding.extension_host.events.handlers import EVENTS
from scripts.workspace import find_source
from tests.extension_reference import PAGE, groups, page, public_names
from tests.sampling import sampled

MODULES = (pi.extension, pi.extension.guards)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_every_public_name_exists_once(module: ModuleType) -> None:
    names = public_names(module)

    assert [name for name in names if getattr(module, name, None) is None] == []
    assert len(names) == len(set(names))


def test_thirty_names_are_a_start_and_the_others_have_groups() -> None:
    names = groups(pi.extension)

    assert len(names["Start here"]) == 30
    assert names.get("", []) == []
    assert set(public_names(pi.extension)).isdisjoint(public_names(pi.extension.guards))


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_lazy_names_are_those_that_type_checkers_see(module: ModuleType) -> None:
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    (condition,) = [node for node in tree.body if isinstance(node, ast.If)]
    visible = {
        (node.module, alias.name)
        for node in condition.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    (table,) = [node for node in ast.walk(condition) if isinstance(node, ast.Dict)]
    homes = ast.literal_eval(table)

    assert visible == {(home, name) for home, names in homes.items() for name in names}


def test_the_record_of_every_event_is_a_public_name() -> None:
    public = [getattr(pi.extension, name) for name in public_names(pi.extension)]

    assert all(kind in public for kind in EVENTS.values())


def test_the_reference_is_made_from_the_code() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()


def test_the_reference_contains_every_public_name() -> None:
    text = page()

    names = (*public_names(pi.extension), *public_names(pi.extension.guards))
    assert [name for name in names if not re.search(rf"`(await )?{name}\b", text)] == []


def test_the_reference_describes_every_method() -> None:
    undescribed = re.findall(r"(?m)^\| `([^`]+\))` \|  \|$", page())

    assert undescribed == []


@pytest.mark.parametrize(
    "words",
    (
        "redirects=…, timeouts=…, limit=…, allow_address=…",
        "`Child.interrupt()`",
        "`ctx.jobs.cancel(",
        "`await ctx.files.scan(",
        "`await SessionHandle.steer(",
        "`FilePreview.added`",
        "`HandOff.go_on`",
        "| `gates` |",
        "| `needs_run_here` |",
        "| `session` |",
        "file:x",
    ),
)
def test_the_reference_has_parameters_fields_and_manifest_keys(words: str) -> None:
    assert words in page()


def test_the_extension_module_defines_nothing_itself(root: Path) -> None:
    tree = ast.parse(find_source(root, "extension/__init__.py").read_text())
    kinds = {type(node).__name__ for node in tree.body}

    assert kinds == {"Expr", "ImportFrom", "Assign", "If"}  # lazy names need a condition
    (condition,) = [node for node in tree.body if isinstance(node, ast.If)]
    assert {type(node) for node in condition.body} == {ast.ImportFrom}
    assert [type(node) for node in condition.orelse] == [ast.Assign]


MECHANISMS = {
    "guards.parse_command": "pi.coding.shell.command_line.resolve",
    "guards.find_sandbox": "pi.base.processes.sandbox",
    "guards.AddressPolicy": "pi.ai.http.addresses",
    "resolve_role": "pi.coding.models.roles",
    "HttpError": "pi.ai.http.errors",
    "SseReader": "pi.ai.wire_support.sse",
}
"""Shared mechanisms, and the modules that must not be loaded before they are used."""


@pytest.mark.parametrize("name", sampled(MECHANISMS, keep=3))
def test_a_lazily_imported_mechanism_is_loaded_when_it_is_used(name: str) -> None:
    code = (
        f"import sys, pi.extension.guards; before = {MECHANISMS[name]!r} in sys.modules;"
        f"pi.extension.{name}; print(before, {MECHANISMS[name]!r} in sys.modules)"
    )
    finished = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert finished.stdout.strip() == "False True"


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'parse_comand'"):
        _ = pi.extension.parse_comand  # type: ignore[attr-defined]


def test_importing_the_extension_module_loads_no_screen() -> None:
    code = "import sys, pi.extension; print([n for n in sys.modules if n.startswith('pi.tui')])"
    finished = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert finished.stdout.strip() == "[]"

"""The API of extensions: what is promised."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pi.extension
from pi.coding.extension_host.events.handlers import EVENTS
from scripts.workspace import find_source
from tests.extension_reference import PAGE, page
from tests.sampling import sampled

MEMBERS = [
    "add_compaction",
    "add_doctor_check",
    "add_input_mode",
    "add_path_form",
    "add_policy",
    "add_redactor",
    "add_scheme",
    "add_section",
    "add_share_target",
    "add_tool",
    "add_view",
    "append_entry",
    "call_tool",
    "command",
    "data_directory",
    "enable_tools",
    "exec",
    "feed",
    "flag",
    "get_active_tools",
    "get_all_tools",
    "get_commands",
    "get_flag",
    "get_session_name",
    "get_thinking_level",
    "on",
    "limit_tools",
    "prepare_spawn",
    "provide",
    "publish",
    "push_pending_action",
    "redact",
    "register_command",
    "register_entry_renderer",
    "register_flag",
    "register_markdown_transformer",
    "register_message_renderer",
    "register_provider",
    "register_shortcut",
    "register_tool",
    "send_message",
    "send_user_message",
    "service",
    "set_active_tools",
    "set_label",
    "set_model",
    "set_session_name",
    "set_thinking_level",
    "shared",
    "shortcut",
    "spawn",
    "store",
    "sub_session",
    "tool",
    "unregister_provider",
    "warn",
    "when_idle",
    "wrap_files",
    "wrap_model",
    "wrap_spawn",
    "wrap_tool",
]
"""Of ``ExtensionAPI``; changing this list changes a promise."""


def test_the_extension_api_has_exactly_these_methods() -> None:
    members = [name for name in dir(pi.extension.ExtensionAPI) if not name.startswith("_")]

    assert sorted(members) == sorted(MEMBERS)


@pytest.mark.parametrize("name", pi.extension.__all__)
def test_every_public_name_exists(name: str) -> None:
    assert getattr(pi.extension, name, None) is not None


def test_the_record_of_every_event_is_a_public_name() -> None:
    public = [getattr(pi.extension, name) for name in pi.extension.__all__]

    assert all(kind in public for kind in EVENTS.values())


def test_the_reference_is_made_from_the_code() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()


def test_the_reference_contains_every_public_name() -> None:
    text = page()

    missing = [name for name in pi.extension.__all__ if not re.search(rf"`(await )?{name}\b", text)]
    assert missing == []


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
    assert len(pi.extension.__all__) == len(set(pi.extension.__all__))


MECHANISMS = {
    "parse_command": "pi.coding.shell.command_line.resolve",
    "find_sandbox": "pi.base.processes.sandbox",
    "resolve_role": "pi.coding.models.roles",
    "AddressPolicy": "pi.ai.http.addresses",
    "make_working_copy": "pi.coding.files.working_copies",
}
"""Shared mechanisms, and the modules that must not be loaded before they are used."""


@pytest.mark.parametrize("name", sampled(MECHANISMS, keep=3))
def test_a_lazily_imported_mechanism_is_loaded_when_it_is_used(name: str) -> None:
    code = (
        f"import sys, pi.extension; before = {MECHANISMS[name]!r} in sys.modules;"
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

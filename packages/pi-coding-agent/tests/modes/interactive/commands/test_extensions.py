from __future__ import annotations

from pathlib import Path

import pytest

from pi.coding.port.extensions import ExtensionRow
from pi.modes.interactive.dialogs.extension_details import actions_of, details_of
from pi.modes.interactive.dialogs.extensions import NONE, find_extensions
from tests.modes.interactive.commands.command_fixture import command_fixture

TODO = ExtensionRow(
    name="todo",
    benefit="Keeps a task list.",
    group="recommended",
    state="off",
    setting="todo.enabled",
    kind="choice",
    choices=(True, False),
    tools=("todo",),
    commands=("todo",),
    tokens=396,
    path="todo:extension",
)
AST = ExtensionRow(
    name="ast-tools",
    benefit="Searches code, also for a todo.",
    group="needs",
    state="needs",
    setting="astTools.enabled",
    libraries=("ast-grep-py>=0.40", "msgspec>=0.19"),
    needs=("ast-grep-py>=0.40",),
    path="ast:extension",
)
OWN = ExtensionRow(
    name="tips",
    group="on",
    state="on",
    rank="user",
    path="/somewhere/tips.py",
    milliseconds=1.26,
    tokens=0,
)


def test_a_search_finds_names_first_then_benefits_then_typing_errors() -> None:
    rows = [AST, OWN, TODO]

    assert find_extensions("todo", rows) == [TODO, AST]
    assert find_extensions("task list", rows) == [TODO]
    assert find_extensions("tps", rows) == [OWN]
    assert find_extensions("", rows) == rows


@pytest.mark.behaviour("slow-extension-does-not-delay")
def test_details_say_what_an_extension_adds_and_costs() -> None:
    assert list(details_of(TODO)) == [
        ("", "Keeps a task list."),
        ("State", "off"),
        ("Adds", "tools todo · commands /todo"),
        ("Requests", "about 396 tokens more"),
        ("Setting", "todo.enabled"),
    ]
    own = dict(details_of(OWN))
    assert (own["From"], own["Loaded in"]) == ("/somewhere/tips.py", "1.3 ms")
    assert own["Requests"] == "no more tokens"


def test_details_name_missing_libraries_with_their_sizes() -> None:
    details = dict(details_of(AST, "ast-grep-py 0.40.1 (12 MB)"))

    assert details["State"] == "off: it needs ast-grep-py>=0.40"
    assert "msgspec (" in details["Libraries"]
    assert details["Libraries"].endswith("missing: ast-grep-py 0.40.1 (12 MB)")
    assert dict(details_of(AST, "size unknown"))["Libraries"].endswith(
        "missing: ast-grep-py (size unknown)"
    )
    assert [option.value for option in actions_of(AST)] == ["on", "back"]


@pytest.mark.parametrize(
    ("state", "actions"),
    [
        ("off", ["on", "on for now", "back"]),
        ("session", ["on", "off for now", "back"]),
        ("on", ["off", "off for now", "back"]),
        ("failed", ["back"]),
    ],
)
def test_the_actions_fit_the_state(state: str, actions: list[str]) -> None:
    row = ExtensionRow(name="x", group="on", state=state, setting="x.enabled")  # type: ignore[arg-type]

    assert [option.value for option in actions_of(row)] == actions


async def test_the_list_has_the_extensions_of_the_user(tmp_path: Path) -> None:
    folder = tmp_path / "home" / ".pi" / "agent" / "extensions"
    folder.mkdir(parents=True)
    (folder / "hello.py").write_text(
        '"""Says hello.\n\nAt once."""\n'
        "def extension(pi):\n"
        '    pi.register_command("hello", handler=lambda *given: None, description="greets")\n'
    )

    async with command_fixture(tmp_path) as on:
        task = on.start("/extensions")
        await on.screen.wait_until_shown()
        assert "hello                Says hello." in on.screen.text(100)
        await on.screen.press("enter")
        details = " ".join(on.screen.text(100).split())
        assert "State on Adds commands /hello" in details
        await on.screen.press("enter", "escape")
        await task


async def test_without_extensions_the_list_says_how_to_add_one(tmp_path: Path) -> None:
    async with command_fixture(tmp_path) as on:
        task = on.start("/extensions")
        await on.screen.wait_until_shown()
        assert NONE in on.screen.text(100)
        await on.screen.press("escape")
        await task

"""Lists of keys and commands."""

from __future__ import annotations

from pi.modes.interactive.commands.table import BUILT_IN
from pi.modes.interactive.dialogs.key_sections import CommandHelp, command_sections, key_sections
from pi.modes.interactive.dialogs.reports import Section
from pi.tui.input.actions import ACTIONS
from pi.tui.input.keymap import Keymap


def test_every_action_that_has_a_key_is_listed_once() -> None:
    keymap = Keymap()
    sections = key_sections(keymap, with_vim=True)[:-1]
    listed = [what for section in sections for _, what in section.rows]
    expected = [action.description for action in ACTIONS if keymap.keys(action.id)]
    assert sorted(listed) == sorted(expected)


def test_the_keys_of_vim_are_listed_only_in_vim_mode() -> None:
    assert "In vim mode" not in [section.title for section in key_sections(Keymap())]
    assert "In vim mode" in [section.title for section in key_sections(Keymap(), with_vim=True)]


def test_a_key_that_the_user_chose_is_the_one_that_is_shown() -> None:
    writing, *_ = key_sections(Keymap({"app.tools.expand": ("f5",), "app.message.copy": ()}))
    assert ("F5", "show more or less of tools") in writing.rows
    assert "copy the last answer" not in [what for _, what in writing.rows]


def test_keys_that_work_only_in_fullscreen_are_listed_apart() -> None:
    sections = {section.title: section.rows for section in key_sections(Keymap())}
    assert ("Ctrl+Home", "go to the top") in sections["In fullscreen mode"]
    assert ("Home", "go to the top") not in sections["While writing"]


def test_keys_of_extensions_have_a_section_of_their_own() -> None:
    sections = key_sections(Keymap(), {"ctrl+shift+t": "open the list"})
    assert Section(title="Of extensions", rows=(("Ctrl+Shift+T", "open the list"),)) in sections


def test_commands_are_grouped_and_sorted_with_their_hints_and_keys() -> None:
    rows = [
        CommandHelp(name="quit", description="leave"),
        CommandHelp(name="name", hint="[name]", description="set or show"),
        CommandHelp(name="model", description="choose"),
        CommandHelp(name="mine", description="of a template"),
        CommandHelp(name="pi:clone"),
    ]
    assert command_sections(rows, Keymap()) == [
        Section(title="Sessions", rows=(("/pi:clone", ""), ("/name [name]", "set or show"))),
        Section(title="Models", rows=(("/model", "choose · Ctrl+L"),)),
        Section(title="Application", rows=(("/quit", "leave · Ctrl+D"),)),
        Section(title="Extensions, skills and templates", rows=(("/mine", "of a template"),)),
    ]


def test_every_built_in_command_is_in_a_group() -> None:
    rows = [CommandHelp(name=row.name) for row in BUILT_IN if row.listed]
    titles = [section.title for section in command_sections(rows, Keymap())]
    assert titles == ["Sessions", "Models", "Project", "Application"]

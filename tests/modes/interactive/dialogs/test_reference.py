"""Tables of keys and commands."""

from __future__ import annotations

from pi.modes.interactive.dialogs.reference import Named, command_table, key_tables
from pi.tui.input.actions import ACTIONS
from pi.tui.input.keymap import Keymap


def test_every_action_that_has_a_key_is_listed() -> None:
    keymap = Keymap()
    text = key_tables(keymap)
    assert [a.id for a in ACTIONS if keymap.keys(a.id) and a.description not in text] == []


def test_a_key_that_the_person_chose_is_the_one_that_is_shown() -> None:
    text = key_tables(Keymap({"app.tools.expand": ("f5",), "app.message.copy": ()}))
    assert "| `F5` | show more or less of tools |" in text
    assert "copy the last answer" not in text


def test_commands_are_listed_with_their_hints() -> None:
    rows = [Named(name="name", hint="[name]", description="set | show"), Named(name="quit")]
    assert command_table(rows) == (
        "## Commands\n\n"
        "| Command | What it does |\n"
        "| --- | --- |\n"
        "| `/name [name]` | set \\| show |\n"
        "| `/quit` |  |"
    )


def test_keys_of_extensions_have_a_table_of_their_own() -> None:
    text = key_tables(Keymap(), {"ctrl+shift+t": "open the list"})

    assert "## Of extensions\n\n| Key | What it does |\n| --- | --- |\n" in text
    assert "| `Ctrl+Shift+T` | open the list |" in text

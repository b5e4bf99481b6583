from __future__ import annotations

from pi.modes.interactive.screen import Screen
from pi.modes.interactive.ui import Commands, Ui
from tests.modes.interactive.theatre import FewCommands


def test_the_screen_is_what_dialogs_ask_for() -> None:
    """Types are compared by mypy; here only that nothing is missing."""
    asked = {name for name in vars(Ui) if not name.startswith("_")}
    set_at_the_start = {"clock", "theme", "themes", "keymap", "tasks", "clipboard"}
    set_at_the_start |= {"reload_session", "quit"}

    assert asked - set_at_the_start <= set(dir(Screen))


def test_commands_need_two_methods() -> None:
    asked = {name for name in vars(Commands) if not name.startswith("_")}

    assert asked == {"listed", "find"}
    assert asked <= set(dir(FewCommands))


def screen_as_ui(screen: Screen) -> Ui:
    """Only for the type checker."""
    return screen

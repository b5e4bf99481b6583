"""The list of sessions as a component."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pi.modes.interactive.dialogs.sessions.selector import Acts, SessionSelector
from pi.tui.component import CURSOR_MARKER
from tests.modes.interactive.dialogs.sessions.test_listing import session
from tests.modes.interactive.fake_screen import FakeScreen, sequence

SESSIONS = [session("a", first="alpha"), session("b", first="beta")]


class Watched:
    """A selector, and what came of it."""

    def __init__(self, tmp_path: Path) -> None:
        self.heard: list[tuple[Any, ...]] = []
        self.screen = FakeScreen(tmp_path)

        def hear(name: str) -> Any:
            return lambda *words: self.heard.append((name, *words))

        names = ("pick", "close", "rename", "delete", "change_scope", "search")
        acts = Acts(**{name: hear(name) for name in names})
        current = SESSIONS[0].path
        self.selector = SessionSelector(self.screen, acts, host=self.screen.host, current=current)
        self.selector.focused = True
        self.selector.offer(SESSIONS, "Here")

    def press(self, *keys: str) -> None:
        for key in keys:
            self.selector.handle_input(sequence(key))


def test_what_is_searched_for_is_told_once_for_every_change(tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    watched.press("b", "e", "down", "backspace", "enter")
    assert watched.heard == [
        ("search", "b"),
        ("search", "be"),
        ("search", "b"),
        ("pick", SESSIONS[1].path),
    ]


def test_there_is_one_cursor_while_a_name_is_written(tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    watched.press("ctrl+r", "x")
    assert sum(row.count(CURSOR_MARKER) for row in watched.selector.render(60)) == 1
    watched.press("escape", "ctrl+r", "y", "enter")
    assert watched.heard == [("rename", SESSIONS[0].path, "y")]


def test_keys_without_a_session_do_nothing(tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    watched.selector.offer([], "Here")
    watched.press("ctrl+r", "ctrl+d", "ctrl+backspace", "enter", "tab", "escape")
    assert watched.heard == [("change_scope",), ("close",)]


def test_only_keys_that_mean_something_now_are_named(tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    listing = [what for _, what in watched.selector.keys]
    watched.press("ctrl+r")
    naming = [what for _, what in watched.selector.keys]
    watched.press("escape", "down", "ctrl+d")

    assert (listing[0], listing[-1], naming) == ("resume", "close", ["accept", "cancel"])
    assert watched.selector.keys == ()

"""The list of sessions as a component."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pi.base.records import replace
from pi.coding.session.lookup import Passage
from pi.modes.interactive.dialogs.sessions import SessionActions, SessionSelector
from pi.tui.component import CURSOR_MARKER
from pi.tui.text.ansi import strip_sequences
from tests.modes.interactive.dialogs.sessions.test_listing import session
from tests.modes.interactive.fake_screen import FakeScreen, sequence

SESSIONS = [session("a", first="alpha"), session("b", first="beta")]


class Watched:
    """A selector and its calls."""

    def __init__(self, tmp_path: Path, *, offered: bool = True) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.screen = FakeScreen(tmp_path)

        def handle_event(name: str) -> Any:
            return lambda *arguments: self.calls.append((name, *arguments))

        names = ("pick", "close", "rename", "delete", "change_scope", "search")
        acts = SessionActions(**{name: handle_event(name) for name in names})
        current = SESSIONS[0].path
        self.selector = SessionSelector(self.screen, acts, host=self.screen.host, current=current)
        self.selector.focused = True
        if offered:
            self.selector.offer(SESSIONS, "Here")

    def rows(self, width: int = 60) -> list[str]:
        return [strip_sequences(row).rstrip() for row in self.selector.render(width)]

    def press(self, *keys: str) -> None:
        for key in keys:
            self.selector.handle_input(sequence(key))


def test_every_change_of_the_query_is_reported_once(tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    watched.press("b", "e", "down", "backspace", "enter")
    assert watched.calls == [
        ("search", "b"),
        ("search", "be"),
        ("search", "b"),
        ("pick", SESSIONS[1].path),
    ]


def test_only_one_cursor_is_shown_while_a_session_is_renamed(tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    watched.press("ctrl+r", "x")
    assert sum(row.count(CURSOR_MARKER) for row in watched.selector.render(60)) == 1
    watched.press("escape", "ctrl+r", "y", "enter")
    assert watched.calls == [("rename", SESSIONS[0].path, "y")]


def test_keys_without_a_session_do_nothing(tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    watched.selector.offer([], "Here")
    watched.press("ctrl+r", "ctrl+d", "ctrl+backspace", "enter", "tab", "escape")
    assert watched.calls == [("change_scope",), ("close",)]


def test_only_keys_that_currently_work_are_named(tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    listing = [what for _, what in watched.selector.keys]
    watched.press("ctrl+r")
    naming = [what for _, what in watched.selector.keys]
    watched.press("escape", "down", "ctrl+d")

    assert (listing[0], listing[-1], naming) == ("resume", "cancel", ["accept", "cancel"])
    assert watched.selector.keys == ()


def test_a_match_that_is_found_later_does_not_change_the_selection(tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    watched.press("a", "down")  # alpha has an a, and so has beta
    watched.selector.add_passages([Passage(session=session("c"), entry_id="1", excerpt="a word")])
    watched.selector.offer([session("c"), *SESSIONS], "Here")
    watched.press("enter")
    assert watched.calls[-1] == ("pick", SESSIONS[1].path)


def test_keys_typed_while_the_sessions_are_loading_are_handled_afterwards(
    tmp_path: Path,
) -> None:
    watched = Watched(tmp_path, offered=False)
    assert watched.rows()[-1] == "   Loading sessions…"
    watched.press("b")
    assert watched.rows()[0] == " > b"
    watched.press("backspace", "down", "enter")
    assert watched.calls == [("search", "b")]
    watched.selector.offer(SESSIONS, "Here")
    assert watched.calls == [("search", "b"), ("search", ""), ("pick", SESSIONS[1].path)]


def test_a_delete_confirmed_before_the_sessions_are_shown_is_ignored(tmp_path: Path) -> None:
    watched = Watched(tmp_path, offered=False)
    watched.press("down", "ctrl+d", "enter")
    watched.selector.offer(SESSIONS, "Here")
    assert watched.calls == []
    assert "Move this session to the trash?" in watched.rows(80)[-1]


def test_a_list_that_is_being_read_can_be_closed(tmp_path: Path) -> None:
    watched = Watched(tmp_path, offered=False)
    watched.press("enter", "escape")
    assert watched.calls == [("close",)]


def test_the_delete_confirmation_is_wrapped_and_names_the_bound_keys(
    tmp_path: Path,
) -> None:
    watched = Watched(tmp_path)
    watched.screen.keymap.load({"tui.select.confirm": ("f2", "ctrl+y")})
    watched.press("down", "ctrl+d")
    assert watched.rows(30)[-3:] == [
        " Move this session to the",
        " trash? F2 or Ctrl+Y: yes,",
        " any other key: no",
    ]
    watched.press("enter", "ctrl+d", "ctrl+y")
    assert watched.calls == [("delete", SESSIONS[1].path)]


def test_one_message_is_shown_in_the_singular(tmp_path: Path) -> None:
    watched = Watched(tmp_path)
    facts = replace(SESSIONS[0].summary, message_count=1)
    watched.selector.offer([replace(SESSIONS[0], summary=facts), SESSIONS[1]], "Here")
    reported = [row.split("  ")[-2].strip() for row in watched.rows()[3:]]
    assert reported == ["1 msg", "2 msgs"]

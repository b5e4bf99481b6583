from __future__ import annotations

import pytest

from pi.tui.component import CURSOR_MARKER, Component
from pi.tui.text.width import visible_width
from pi.tui.widgets.input import Input
from pi.tui.widgets.select_list import SelectItem, SelectList
from pi.tui.widgets.settings_list import Done, SettingItem, SettingsList

HINT = "  Enter/Space to change · Esc to cancel"


def choose_theme(current: str, done: Done) -> Component:
    return SelectList(
        [SelectItem(value="light"), SelectItem(value="dark")],
        on_select=lambda item: done(item.value),
        on_cancel=lambda: done(None),
    )


ITEMS = [
    SettingItem(
        id="sound", label="Sound", current_value="on", values=("on", "off"), description="Beeps."
    ),
    SettingItem(id="theme", label="Theme", current_value="auto", submenu=choose_theme),
    SettingItem(id="size", label="Font size", current_value="12"),
]


class Changes:
    def __init__(self, *, is_searchable: bool = False, max_visible: int = 10) -> None:
        self.changed: list[tuple[str, str]] = []
        self.cancelled = 0
        self.list = SettingsList(
            ITEMS,
            max_visible,
            on_change=lambda id, value: self.changed.append((id, value)),
            on_cancel=self.cancel,
            is_searchable=is_searchable,
        )

    def cancel(self) -> None:
        self.cancelled += 1

    def type(self, *keys: str) -> None:
        for key in keys:
            self.list.handle_input(key)


def test_values_and_the_description_of_the_selected_setting_are_shown() -> None:
    assert Changes().list.render(60) == [
        "→ Sound      on",
        "  Theme      auto",
        "  Font size  12",
        "",
        "  Beeps.",
        "",
        HINT,
    ]


@pytest.mark.parametrize("key", ["\r", " "])
def test_enter_and_space_cycle_through_the_values(key: str) -> None:
    changes = Changes()

    changes.type(key, key)

    assert changes.changed == [("sound", "off"), ("sound", "on")]


def test_a_setting_without_choices_is_not_changed() -> None:
    changes = Changes()
    changes.type("\x1b[A", "\r")

    assert changes.changed == []


def test_a_submenu_replaces_the_list_and_returns_a_value() -> None:
    changes = Changes()
    changes.type("\x1b[B", "\r")
    assert changes.list.render(20) == ["→ light", "  dark"]

    changes.type("\x1b[B", "\r")

    assert changes.changed == [("theme", "dark")]
    assert changes.list.render(20)[1] == "→ Theme      dark"


@pytest.mark.behaviour("selectors")
def test_cancelling_a_submenu_changes_nothing_and_cancelling_again_closes() -> None:
    changes = Changes()
    changes.type("\x1b[B", "\r", "\x1b")
    assert (changes.changed, changes.cancelled) == ([], 0)

    changes.type("\x03")

    assert changes.cancelled == 1


@pytest.mark.behaviour("selectors")
def test_typing_searches_and_selects_the_best_match() -> None:
    changes = Changes(is_searchable=True)
    changes.type("\x1b[B", "s", "o")

    assert changes.list.render(60)[:3] == ["> so", "", "→ Sound  on"]
    changes.type("\x7f", "\x7f")
    assert len(changes.list.render(60)) == 9


@pytest.mark.behaviour("selectors")
def test_a_setting_is_found_by_a_part_of_its_label() -> None:
    changes = Changes(is_searchable=True)
    changes.type("s", "i", "z", "e")
    assert changes.list.render(40)[2] == "→ Font size  12"


def test_the_name_of_a_setting_finds_it_before_labels_with_that_word() -> None:
    items = [
        SettingItem(id="commit.hooks", label="Hooks of git", current_value="off"),
        SettingItem(id="hooks", label="Hooks", current_value="(not set)"),
    ]
    settings = SettingsList(
        items, on_change=lambda id, value: None, on_cancel=lambda: None, is_searchable=True
    )
    for key in "hooks":
        settings.handle_input(key)

    assert settings.render(60)[2] == "→ Hooks         (not set)"


def test_nothing_is_changed_if_the_search_has_no_match() -> None:
    changes = Changes(is_searchable=True)
    changes.type("x", "x", "\x1b[A", "\r")

    assert changes.changed == []
    assert changes.list.render(40) == ["> xx", "", "  No matching settings", "", HINT]


def test_a_long_list_shows_the_position() -> None:
    assert Changes(max_visible=2).list.render(60)[:3] == [
        "→ Sound      on",
        "  Theme      auto",
        "  (1/3)",
    ]


def test_a_value_set_by_the_program_is_sanitised_and_does_not_call_on_change() -> None:
    changes = Changes()
    changes.list.set_value("size", "1\x1b[2J3")

    assert changes.list.render(60)[2] == "  Font size  13"
    assert changes.changed == []


@pytest.mark.parametrize("width", [1, 2, 10, 20])
def test_no_row_is_too_wide(width: int) -> None:
    rows = Changes(is_searchable=True).list.render(width)

    assert max(map(visible_width, rows)) <= width


@pytest.mark.behaviour("cursor-at-the-insertion-point")
def test_the_caret_is_where_the_search_is_typed() -> None:
    changes = Changes(is_searchable=True)
    changes.list.focused = True
    changes.type("s", "o")

    assert changes.list.render(60)[0] == f"> so{CURSOR_MARKER}\x1b[7m \x1b[27m"


def test_a_search_is_edited_like_any_text() -> None:
    changes = Changes(is_searchable=True)

    changes.type("\x1b[200~font it\x1b[201~", "\x17", "s", "i")

    assert changes.list.render(40)[:3] == ["> font si", "", "→ Font size  12"]


def test_an_open_submenu_has_the_focus() -> None:
    fields: list[Input] = []

    def ask(current: str, done: Done) -> Component:
        fields.append(Input())
        return fields[0]

    setting = SettingItem(id="name", label="Name", current_value="", submenu=ask)
    settings = SettingsList([setting], on_change=lambda *_: None, on_cancel=lambda: None)
    settings.focused = True
    settings.handle_input("\r")
    assert fields[0].focused
    settings.focused = False
    assert not fields[0].focused


def test_labels_are_truncated_before_values_on_a_narrow_screen() -> None:
    item = SettingItem(id="x", label="A rather long label of it", current_value="(not set)")
    settings = SettingsList(
        [item], on_change=lambda id, value: None, on_cancel=lambda: None, hint=""
    )

    assert settings.render(30) == ["→ A rather long l…  (not set)"]
    assert settings.render(50) == ["→ A rather long label of it  (not set)"]


def test_is_asking_reports_an_open_submenu() -> None:
    changes = Changes()
    before = changes.list.is_asking
    changes.type("\x1b[B", "\r")

    assert (before, changes.list.is_asking) == (False, True)

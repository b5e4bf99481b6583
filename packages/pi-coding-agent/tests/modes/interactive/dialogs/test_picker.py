"""Lists to search and choose from."""

from __future__ import annotations

from typing import Any

import pytest

from pi.base.fuzzy import rank
from pi.modes.interactive.dialogs.picker import Picker
from pi.tui.input.keymap import Keymap
from pi.tui.text.ansi import strip_sequences
from tests.modes.interactive.fake_screen import plain_theme, sequence


class Watched:
    """A picker of words and its calls."""

    def __init__(self, *labels: str, rows: int = 3, **more: Any) -> None:
        self.words = list(labels)
        self.calls: list[tuple[str, str | None]] = []
        self.picker: Picker[str] = Picker(
            plain_theme(),
            Keymap(),
            find=lambda query: rank(query, self.words),
            draw=lambda word, width, *, selected: word.upper() if selected else word,
            rows=rows,
            on_pick=lambda word: self.calls.append(("pick", word)),
            on_cancel=lambda: self.calls.append(("cancel", None)),
            on_move=lambda word: self.calls.append(("move", word)),
            keys={"app.models.save": lambda word: self.calls.append(("save", word))},
            **more,
        )

    def press(self, *keys: str) -> None:
        for key in keys:
            self.picker.handle_input(sequence(key))

    def rows(self, width: int = 30) -> list[str]:
        return [strip_sequences(row).rstrip() for row in self.picker.render(width)]


def test_the_selected_word_has_an_arrow_and_the_place_is_reported() -> None:
    watched = Watched("one", "two", "three", "four", head=lambda width: ["head"])
    watched.press("down", "down")
    assert watched.rows() == [
        " > Type to search",
        " head",
        "",
        "   two",
        " → THREE",
        "   four",
        "   (3/4)",
    ]


def test_moving_choosing_and_own_keys_are_reported() -> None:
    watched = Watched("one", "two")
    watched.press("down", "ctrl+s", "enter", "escape")
    assert watched.calls == [("move", "two"), ("save", "two"), ("pick", "two"), ("cancel", None)]


@pytest.mark.behaviour("selectors")
def test_typing_selects_the_best_match_and_keys_in_an_empty_list_are_harmless() -> None:
    watched = Watched("alpha", "beta", "gamma")
    watched.press("down", "down", *"be")
    assert watched.picker.selected == "beta"
    watched.press(*"zz", "up", "down", "enter", "ctrl+s")
    assert watched.rows()[-1] == "   No matching items"
    assert watched.calls[-1] == ("save", None)
    assert watched.picker.selected is None


def test_an_empty_list_is_reported_differently_from_no_match() -> None:
    watched = Watched("alpha", empty="No messages yet")
    watched.press("z")
    assert watched.rows()[-1] == "   No matching items"
    watched.words.clear()
    watched.picker.refresh()
    assert watched.rows()[-1] == "   No messages yet"


def test_the_selection_is_kept_when_items_are_added_or_removed() -> None:
    watched = Watched("one", "two", "three")
    watched.press("down")
    watched.words.append("four")
    watched.picker.refresh()
    assert watched.picker.selected == "two"
    watched.words[:] = ["one"]
    watched.picker.refresh()
    assert watched.picker.selected == "one"
    watched.picker.select(lambda word: word == "nowhere")
    assert watched.picker.selected == "one"


def test_rows_fit_any_width() -> None:
    watched = Watched("a very long word " * 9)
    assert all(len(row) <= 5 for row in watched.rows(5))


def test_a_moved_selection_is_kept_when_the_list_changes() -> None:
    watched = Watched("one", "two", "three")
    watched.press("down")
    watched.words[:0] = ["new", "newer"]
    watched.picker.refresh()
    assert watched.picker.selected == "two"
    watched.words.remove("two")
    watched.picker.refresh()
    assert watched.picker.selected == "three"


def test_without_a_move_the_best_item_is_selected() -> None:
    watched = Watched("one", "two")
    watched.words.insert(0, "new")
    watched.picker.refresh()
    assert watched.picker.selected == "new"


def test_the_selection_follows_an_item_by_its_stable_key() -> None:
    watched = Watched("one 1", "two 1", same=lambda word: word.split()[0])
    watched.press("down")
    watched.words[:] = ["two 2", "one 2"]
    watched.picker.refresh()
    assert watched.picker.selected == "two 2"


def test_a_picker_can_start_with_a_query() -> None:
    watched = Watched("one", "two", query="tw")
    assert watched.rows() == [" > tw", "", " → TWO"]

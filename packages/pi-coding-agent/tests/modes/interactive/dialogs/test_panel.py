"""The frame of dialogs."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.modes.interactive.dialogs.message import shown_key
from pi.modes.interactive.dialogs.panel import LOW, Panel, hints, list_rows, make_panel
from pi.modes.interactive.dialogs.questions import CHOOSING
from pi.modes.interactive.ui import Ui
from pi.tui.text.ansi import strip_sequences
from pi.tui.widgets.input import Input
from tests.modes.interactive.fake_screen import FakeScreen, plain_theme
from tests.modes.interactive.transcript.looks import look


def test_a_panel_frames_what_is_inside() -> None:
    field = Input(prompt=" > ")
    panel = Panel(plain_theme(), "A title", field, message="About it.", hints=lambda: "Enter go")
    panel.focused = True
    panel.handle_input("x")
    rows = [strip_sequences(row).rstrip() for row in panel.render(20)]
    line = "─" * 20
    assert rows == [line, " A title", " About it.", "", " > x", "", " Enter go", line]
    assert field.focused


def test_titles_are_sanitised_and_read_in_full() -> None:
    evil = "evil\x1b]0;x\x07 and far too long"
    rows = Panel(plain_theme(), evil, Input(), message=evil, aside=lambda: "5s").render(16)
    assert [strip_sequences(row) for row in rows[1:4]] == [" evil and", " far too", " long 5s"]
    assert "\x1b]0" not in "".join(rows)


def test_a_long_title_is_truncated_to_a_part_of_the_screen() -> None:
    rows = Panel(plain_theme(), "word " * 30, Input(), rows=lambda: 12).render(12)
    assert [strip_sequences(row) for row in rows[1:4]] == [" word word"] * 2 + [" word word…"]


def test_the_text_beside_a_truncated_title_is_shown_in_full() -> None:
    rows = Panel(plain_theme(), "x" * 50, Input(), rows=lambda: 4, aside=lambda: "(5s)").render(14)
    assert strip_sequences(rows[1]) == " xxxxxx… (5s)"


def test_all_lines_of_a_title_are_shown() -> None:
    title = "Dangerous command:\n\n  rm -rf /very/long\n\nAllow?"
    rows = Panel(plain_theme(), title, Input(prompt=" > ")).render(22)
    expected = [" Dangerous command:", "   rm -rf /very/long", "", " Allow?", "", " >"]
    assert [strip_sequences(row).rstrip() for row in rows[1:-1]] == expected


def test_a_unified_diff_in_a_message_has_the_colours_of_a_diff() -> None:
    theme = look().theme
    diff = "--- a\n+++ a\n@@ -1,2 +1,2 @@\n one\n-two\n+three"
    title = f"Allow edit?\n\n- a reason\n\n{diff}\n\n+ no diff"
    removed, added = map(theme.paint, ("toolDiffRemoved", "toolDiffAdded"))

    rows = Panel(theme, title, Input(prompt=" > ")).render(30)

    text = [strip_sequences(row).strip() for row in rows]
    assert text[2:10] == ["- a reason", "", "a", "1   one", "- two", "2 + three", "", "+ no diff"]
    for row in (6, 7):
        assert "\x1b[48;2" in rows[row]  # tinted
    assert removed("-") in rows[6]
    assert added("+") in rows[7]


@pytest.mark.parametrize(
    "text",
    [
        "--- a\n+++ a\n@@ -1,3 +1 @@\n-x\n+y",
        "--- a\n+++ a\n@@ -1 +1 @@ hidden\n-x\n+y",
        "--- a\nrm -rf /",
    ],
)
def test_a_text_that_only_looks_like_a_diff_is_shown_as_it_is(text: str) -> None:
    rows = Panel(plain_theme(), f"Allow bash?\n\n{text}", Input(prompt=" > ")).render(40)
    text_on_screen = "\n".join(strip_sequences(row).strip() for row in rows)
    assert text in text_on_screen


def test_hints_name_the_keys_that_are_bound(tmp_path: Path) -> None:
    screen = FakeScreen(tmp_path)
    screen.keymap.load({"tui.select.confirm": ("f2",), "tui.select.cancel": ()})
    actions = (("tui.select.confirm", "choose"), ("tui.select.cancel", "cancel"))
    assert hints(screen, *actions) == "F2 choose"


def test_low_screens_have_short_lists_and_no_hints(tmp_path: Path) -> None:
    screen = FakeScreen(tmp_path)
    sizes = {}
    for screen.rows in (60, 24, 12, 3):
        sizes[screen.rows] = (list_rows(screen), bool(hints(screen, ("tui.select.confirm", "x"))))
    assert sizes == {60: (30, True), 24: (12, True), 12: (3, False), 3: (3, False)}


def test_key_names_are_capitalised() -> None:
    assert [shown_key(key) for key in ("ctrl+s", "pageUp", "", "alt+]")] == [
        "Ctrl+S",
        "PageUp",
        "",
        "Alt+]",
    ]


def test_hints_are_never_broken_between_a_key_and_what_it_does() -> None:
    reported = "Enter go there · Ctrl+O filter · Escape close"
    panel = Panel(plain_theme(), "", Input(), hints=lambda: reported)

    narrow, wide = (
        [strip_sequences(row) for row in panel.render(width)[4:-1]] for width in (24, 34)
    )
    assert narrow == [" Enter go there", " Ctrl+O filter", " Escape close"]
    assert wide == [" Enter go there · Ctrl+O filter", " Escape close"]


def test_a_title_is_shown_on_a_low_screen_with_a_long_message(tmp_path: Path) -> None:
    screen = FakeScreen(tmp_path)
    screen.rows = 10
    message = "The folder\n\nOne word after the other about it, more than the screen has rows for."
    panel = make_panel(screen, "A title", Input(prompt=" > "), lambda: CHOOSING, message=message)
    rows = [strip_sequences(row).rstrip() for row in panel.render(20)]
    line = "─" * 20
    reported = [" The folder", " … 4 hidden lines …", " screen has rows", " for."]
    assert rows == [line, " A title", *reported, " >", line]


@pytest.mark.parametrize(
    ("height", "expected"),
    [
        (17, ["", *(["x"] * 9), "", " Enter choose · Escape cancel"]),
        (16, ["", *(["x"] * 9), " Enter choose · Escape cancel"]),
        (15, ["x"] * 9),
    ],
)
def test_empty_rows_go_first_on_a_low_screen(
    tmp_path: Path, height: int, expected: list[str]
) -> None:
    screen = FakeScreen(tmp_path)
    screen.rows = height
    panel = make_panel(screen, "A title", Lines(9), lambda: CHOOSING)
    rows = [strip_sequences(row).rstrip() for row in panel.render(60)]
    assert rows[1:-1] == [" A title", *expected]


@pytest.mark.parametrize(("lines", "has_hints"), [(3, True), (4, True), (5, False), (6, True)])
def test_the_keys_go_if_the_message_then_fits(
    tmp_path: Path, lines: int, *, has_hints: bool
) -> None:
    screen = FakeScreen(tmp_path)
    screen.rows = 16
    title = "\n".join(["A title", *(f"line {number}" for number in range(lines))])
    panel = make_panel(screen, title, Lines(6), lambda: CHOOSING)
    rows = [strip_sequences(row).rstrip() for row in panel.render(60)]
    assert (" Enter choose · Escape cancel" in rows) == has_hints
    assert f" line {lines - 1}" in rows
    assert ("hidden lines" in "".join(rows)) == (lines == 6)


class Lines:
    """A component with a fixed number of rows."""

    def __init__(self, count: int) -> None:
        self._count = count

    def invalidate(self) -> None:
        """Nothing is cached."""

    def render(self, width: int) -> list[str]:
        return ["x"] * self._count


@given(st.integers(3, 60), st.integers(0, 4))
def test_a_list_with_a_head_and_hints_fits_every_screen_that_is_not_tiny(
    height: int, more: int
) -> None:
    screen = cast("Ui", SimpleNamespace(rows=height))
    rows = list_rows(screen, more=more)
    around = 9 if height < LOW else 12
    assert rows == 3 or rows + more + around <= height

"""The frame of dialogs."""

from __future__ import annotations

from pathlib import Path

from pi.modes.interactive.dialogs.panel import Panel, hints, list_rows, shown_key
from pi.tui.text.ansi import strip_sequences
from pi.tui.widgets.input import Input
from tests.modes.interactive.fake_screen import FakeScreen, plain_theme


def test_a_panel_frames_what_is_inside() -> None:
    field = Input(prompt=" > ")
    panel = Panel(plain_theme(), "A title", field, message="About it.", hints=lambda: "Enter go")
    panel.focused = True
    panel.handle_input("x")
    rows = [strip_sequences(row).rstrip() for row in panel.render(20)]
    line = "─" * 20
    assert rows == [line, " A title", " About it.", "", " > x", "", " Enter go", line]
    assert field.focused


def test_titles_are_cut_and_sanitised() -> None:
    evil = "evil\x1b]0;x\x07 and far too long"
    rows = Panel(plain_theme(), evil, Input(), message=evil).render(12)
    assert strip_sequences(rows[1]) == " evil and …"
    assert "\x1b]0" not in "".join(rows)


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


def test_keys_are_called_as_people_call_them() -> None:
    assert [shown_key(key) for key in ("ctrl+s", "pageUp", "", "alt+]")] == [
        "Ctrl+S",
        "PageUp",
        "",
        "Alt+]",
    ]


def test_hints_are_never_broken_between_a_key_and_what_it_does() -> None:
    told = "Enter go there · Ctrl+O filter · Escape close"
    panel = Panel(plain_theme(), "", Input(), hints=lambda: told)

    narrow, wide = (
        [strip_sequences(row) for row in panel.render(width)[4:-1]] for width in (24, 34)
    )
    assert narrow == [" Enter go there", " Ctrl+O filter", " Escape close"]
    assert wide == [" Enter go there · Ctrl+O filter", " Escape close"]

from __future__ import annotations

from pathlib import Path
from typing import Any

from pi.modes.interactive.extensions.drawing import SafeComponent
from pi.modes.interactive.extensions.regions import ExtensionRegions
from pi.modes.interactive.extensions.theme import ExtensionTheme
from pi.modes.interactive.layout import AppLayout
from tests.modes.interactive.extensions.layouts import Line, new_frame, plain


def regions(tmp_path: Path) -> tuple[AppLayout, ExtensionRegions]:
    frame = new_frame(tmp_path)
    return frame, ExtensionRegions(frame, ExtensionTheme(frame.theme))


async def test_a_widget_has_one_place(tmp_path: Path) -> None:
    frame, made = regions(tmp_path)

    made.set_widget("w", ["above"], None)
    made.set_widget("x", lambda tui, theme: Line(theme.bold("drawn")), "belowEditor")
    assert (plain(frame.above_editor), plain(frame.below_editor)) == (["above"], ["drawn"])

    made.set_widget("w", ["below"], "belowEditor")
    assert (plain(frame.above_editor), plain(frame.below_editor)) == ([], ["drawn", "below"])

    made.set_widget("w", None, None)
    made.set_widget("unknown", None, None)
    assert plain(frame.below_editor) == ["drawn"]


async def test_a_header_is_replaced_and_removed(tmp_path: Path) -> None:
    frame, made = regions(tmp_path)

    made.set_header(lambda: Line("header"))
    made.set_header(lambda: Line("another"))
    assert plain(frame.header) == ["another"]

    made.set_header(None)
    assert plain(frame.header) == []


async def test_a_footer_replaces_everything_except_footer_lines(tmp_path: Path) -> None:
    frame, made = regions(tmp_path)
    made.lines.set("x", Line("line"), order=0)
    made.set_status("s", "status")
    usual = plain(frame.bottom)

    def make(tui: Any, theme: Any, data: Any) -> Line:
        return Line(f"{data.statuses['s']} {data.branch!r}")

    made.set_footer(make)
    assert plain(frame.bottom) == ["status ''", "line"]

    made.set_footer(None)
    assert plain(frame.bottom) == usual
    assert usual[-2:] == ["status", "line"]


async def test_a_long_widget_leaves_room_for_the_editor(tmp_path: Path) -> None:
    frame, made = regions(tmp_path)

    made.set_widget("w", [str(number) for number in range(50)], None)

    assert plain(frame.above_editor) == [*map(str, range(7)), "… 43 more"]


async def test_removing_a_header_restores_the_default_one(tmp_path: Path) -> None:
    frame, made = regions(tmp_path)
    frame.header.add_child(SafeComponent(Line("usual")))

    made.set_header(lambda: Line("own"))
    assert plain(frame.header) == ["own"]

    made.set_header(None)
    assert plain(frame.header) == ["usual"]

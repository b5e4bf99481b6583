from __future__ import annotations

from pi.tui.text.width import visible_width
from pi.tui.widgets.frame import framed_rows


class Plain:
    def fg(self, name: str, text: str) -> str:
        return text

    def bold(self, text: str) -> str:
        return text


def test_a_frame_has_rules_a_title_and_hints_that_wrap_between_hints() -> None:
    hints = "Enter show · r reconnect · Escape close"

    rows = framed_rows(
        Plain(), "Servers", ["→ one", "", "  two"], hints, width=30, height=40, aside="2 in all"
    )

    assert rows == [
        *("─" * 30, " Servers  2 in all", ""),
        *(" → one", "", "   two", ""),
        *(" Enter show · r reconnect", " Escape close", "─" * 30),
    ]


def test_a_low_screen_omits_hints_and_blank_rows_and_no_row_is_too_wide() -> None:
    rows = framed_rows(Plain(), "Servers", ["→ " + "x" * 40], "Escape close", width=20, height=10)

    assert rows == ["─" * 20, " Servers", f" → {'x' * 16}…", "─" * 20]
    assert {visible_width(row) for row in rows} <= {8, 20}

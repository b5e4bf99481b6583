"""What the screen shows of a command that the user runs with `!`."""

from __future__ import annotations

from tests.journeys.program import Journey


def test_twenty_rows_of_output_are_shown_and_a_line_has_a_limit_of_columns(
    journey: Journey,
) -> None:
    with journey.terminal(rows=100) as user:
        user.submits("!seq 100 160")
        user.shows("41 earlier lines", "141", "160")
        assert "140" not in user.settles()
        user.submits("!printf '%05000d\\n' 7; echo end")
        user.shows("000000", "… 1,000 more columns", "end")

"""The usage of a session: table, bars and charts."""

from __future__ import annotations

from datetime import datetime

from pi.ai.messages import AssistantMessage, Cost, Usage
from pi.ai.plan_limits import PlanLimit
from pi.coding.session.entries import Entry, MessageEntry
from pi.coding.session.statistics import ContextUsage
from pi.modes.interactive.dialogs.key_sections import tokens
from pi.modes.interactive.dialogs.usage import UsageView, usage_of
from pi.tui.text.ansi import strip_sequences
from tests.modes.interactive.fake_screen import plain_theme

NOON = datetime(2026, 5, 4, 12).astimezone().timestamp()
WINDOW = ContextUsage(tokens=50_000, context_window=200_000, percent=25.0)


def answer(output: int, cost: float = 0.0, model: str = "m") -> Entry:
    usage = Usage(input=100, output=output, cost=Cost(total=cost))
    return MessageEntry(message=AssistantMessage(provider="p", model=model, usage=usage))


def drawn(
    entries: list[Entry],
    context: ContextUsage | None = None,
    width: int = 76,
    limits: tuple[PlanLimit, ...] = (),
) -> list[str]:
    view = UsageView(usage_of(entries, context, limits), plain_theme(), now=NOON)
    return [strip_sequences(row).rstrip() for row in view.render(width)]


def test_tokens_are_reported_in_short() -> None:
    assert [tokens(n) for n in (7, 1000, 12_345, 4_100_000)] == ["7", "1k", "12.3k", "4.1M"]


def test_models_are_one_aligned_table_and_few_requests_have_no_chart() -> None:
    rows = drawn([answer(10, 0.5), answer(40, 1.0), answer(20, 0.25, "n")], WINDOW)
    assert rows == [
        "",
        " Usage",
        " model  requests  input  output     cost",
        " p/m           2    200      50    $1.50",
        " p/n           1    100      20  $0.2500",
        " total         3    300      70    $1.75",
        "",
        " context  ██████░░░░░░░░░░░░░░░░ 25% of 200k used",
        "",
    ]


def test_charts_with_their_range_are_drawn_from_five_requests_on() -> None:
    rows = drawn([answer(10 * number, 0.1 * number) for number in range(1, 6)])
    assert rows[4:] == [
        "",
        " the 5 requests, oldest first",
        " input   █████  100 to 100",
        " output  ▂▄▅▇█  10 to 50",
        " cost    ▂▄▅▇█  $0.100 to $0.500",
        "",
    ]
    assert sum("█" in row for row in drawn([answer(1, 1.0)] * 4)) == 0


def test_limits_of_a_plan_show_the_rest_and_the_reset_time() -> None:
    limits = (
        PlanLimit(name="5 hours", used_percent=40, resets_at=NOON + 2 * 3600),
        PlanLimit(name="7 days", used_percent=95, resets_at=NOON + 3 * 86400),
    )
    rows = drawn([answer(1)], limits=limits)
    assert rows[5].split("░ ")[-1] == "60% left, resets 14:00"
    assert rows[6].split("░ ")[-1] == "5% left, resets May 07, 12:00"


def test_no_requests_are_reported_as_such() -> None:
    assert drawn([])[2:] == [" No requests yet.", ""]


def test_an_unknown_context_size_is_shown_as_a_question_mark() -> None:
    context = ContextUsage(tokens=None, context_window=200_000, percent=None)
    assert " context  ? of 200k, known after the next answer" in drawn([answer(1)], context)


def test_rows_fit_narrow_screens() -> None:
    for width in (12, 24, 40):
        assert all(len(row) <= width for row in drawn([answer(10)] * 6, WINDOW, width=width))


def test_columns_are_dropped_on_a_narrow_screen_but_the_cost_is_kept() -> None:
    rows = drawn([answer(10, 0.5, "a-name-that-is-long")], width=40)
    assert rows[2:4] == [
        " model           input  output     cost",
        " p/a-name-that…    100      10  $0.5000",
    ]

"""What a session has used, as charts."""

from __future__ import annotations

from pi.ai.messages import AssistantMessage, Cost, Usage
from pi.coding.session.entries import Entry, MessageEntry
from pi.coding.session.views import ContextUsage
from pi.modes.interactive.dialogs.reports import ChartsView, UsageView, tokens, usage_of
from pi.tui.text.ansi import strip_sequences
from tests.modes.interactive.fake_screen import plain_theme


def answer(output: int, cost: float = 0.0, model: str = "m") -> Entry:
    usage = Usage(input=100, output=output, cost=Cost(total=cost))
    return MessageEntry(message=AssistantMessage(provider="p", model=model, usage=usage))


def drawn(entries: list[Entry], context: ContextUsage | None = None, width: int = 60) -> list[str]:
    view = UsageView(usage_of(entries, context), plain_theme())
    return [strip_sequences(row).rstrip() for row in view.render(width)]


def test_tokens_are_reported_in_short() -> None:
    assert [tokens(n) for n in (7, 1000, 12_345, 4_100_000)] == ["7", "1k", "12.3k", "4.1M"]


def test_totals_course_and_models_are_shown() -> None:
    context = ContextUsage(tokens=50_000, context_window=200_000, percent=25.0)
    rows = drawn([answer(10, 0.5), answer(40, 1.0), answer(20, 0.25, "n")], context)
    assert rows == [
        "",
        " Usage",
        " 3 requests · ↑ 300 · ↓ 70 · cache R 0 W 0 · $1.75",
        " window   ████░░░░░░░░░░ 25 % of 200k",
        " read     ███",
        " written  ▃█▅",
        " cost     ▅█▃",
        " ██████████████ p/m  2× · 250 · $1.50",
        " ██░░░░░░░░░░░░ p/n  1× · 120 · $0.2500",
        "",
    ]


def test_one_request_is_one() -> None:
    assert drawn([answer(10)])[2].startswith(" 1 request ·")


def test_nothing_used_is_reported_as_such() -> None:
    assert drawn([])[3:] == [" No requests yet.", ""]


def test_a_window_that_is_not_known_yet_is_a_question_mark() -> None:
    context = ContextUsage(tokens=None, context_window=200_000, percent=None)
    assert " window   ? of 200k (known after the next answer)" in drawn([answer(1)], context)


def test_rows_fit_narrow_screens() -> None:
    assert all(len(row) <= 12 for row in drawn([answer(10), answer(20)], width=12))


def test_of_a_long_name_the_end_is_cut_and_never_the_cost() -> None:
    row = drawn([answer(10, 0.5, "a-name-that-is-long")], width=40)[-2]
    assert row == " █████████ p/a-nam…  1× · 110 · $0.5000"


def test_the_charts_can_be_had_by_themselves() -> None:
    context = ContextUsage(tokens=50_000, context_window=200_000, percent=25.0)
    view = ChartsView(usage_of([answer(10), answer(20)], context), plain_theme())
    assert [strip_sequences(row).rstrip() for row in view.render(60)] == [
        " window   ████░░░░░░░░░░ 25 % of 200k",
        " read     ██",
        " written  ▅█",
    ]

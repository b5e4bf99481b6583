from __future__ import annotations

from pathlib import Path

import pytest

from pi.modes.interactive.status.footer import Footer, FooterFacts, short_folder, short_number
from pi.modes.interactive.theme import Theme
from pi.modes.interactive.theme_selector import built_in
from pi.tui.text.width import visible_width
from tests.modes.interactive.transcript.looks import plain

FULL = FooterFacts(
    cwd="~/project",
    branch="main",
    session_name="Tidy up",
    input=1234,
    output=567,
    cache_read=45_678,
    cache_write=1_500_000,
    hit_percent=87.54,
    cost=0.1234,
    context_percent=12.34,
    context_window=200_000,
    is_automatic=True,
    provider="anthropic",
    model="claude",
    level="high",
)


def footer(facts: FooterFacts) -> Footer:
    made = Footer(Theme(built_in("dark")))
    made.show(facts)
    return made


def test_both_lines_can_be_read_without_a_legend() -> None:
    numbers = "1.5M in · 567 out · 88% cached · $0.123 · context 12% of 200k"

    assert plain(footer(FULL), 100) == [
        "~/project (main) • Tidy up",
        numbers + "(anthropic) claude • high".rjust(100 - len(numbers)),
    ]


@pytest.mark.parametrize(
    ("width", "place"),
    [
        (50, "~/code/clients/acme/service (fix/login) • Friday"),
        (40, "…ients/acme/service (fix/login) • Friday"),
        (30, "…e/service (fix/login) • Frid…"),
        (20, "…rvice (fix/login) …"),
    ],
)
def test_a_long_folder_is_truncated_before_the_branch_and_the_session_name(
    width: int, place: str
) -> None:
    facts = FooterFacts(
        cwd="~/code/clients/acme/service", branch="fix/login", session_name="Friday"
    )

    assert plain(footer(facts), width)[0] == place


def test_zeros_are_left_out() -> None:
    facts = FooterFacts(cwd="~", context_window=1000, is_automatic=True, note="no model")

    assert plain(footer(facts), 40) == ["~", "context ?% of 1.0k" + " " * 14 + "no model"]


def test_the_provider_is_dropped_first_on_a_narrow_screen() -> None:
    facts = FooterFacts(cwd="~", provider="anthropic", model="claude", level="high", input=12)

    assert plain(footer(facts), 32)[1] == "12 in  (anthropic) claude • high"
    assert plain(footer(facts), 31)[1] == "12 in" + " " * 13 + "claude • high"


def test_numbers_are_dropped_one_by_one_before_the_model() -> None:
    assert [plain(footer(FULL), width)[1] for width in (76, 70, 50, 40, 30, 24)] == [
        "1.5M in · 567 out · 88% cached · $0.123 · context 12% of 200k  claude • high",
        "1.5M in · 567 out · $0.123 · context 12% of 200k         claude • high",
        "$0.123 · context 12% of 200k         claude • high",
        "$0.123 · 12% of 200k       claude • high",
        "12% of 200k      claude • high",
        "12% of 200k  claude • h…",
    ]


def test_a_context_without_automatic_compaction_is_marked() -> None:
    facts = FooterFacts(cwd="~", context_window=1000, context_percent=5.0)

    assert plain(footer(facts), 60)[1].startswith("context 5% of 1.0k · no auto-compact")


@pytest.mark.parametrize("width", [1, 8, 20, 40, 80])
def test_no_row_is_wider_than_the_screen(width: int) -> None:
    assert all(visible_width(row) <= width for row in footer(FULL).render(width))


@pytest.mark.parametrize(("percent", "token"), [(50.0, "dim"), (75.0, "warning"), (95.0, "error")])
def test_a_full_context_window_is_highlighted(percent: float, token: str) -> None:
    theme = Theme(built_in("dark"))
    made = Footer(theme)

    made.show(FooterFacts(cwd="~", context_percent=percent, context_window=1000))

    assert theme.paint(token)(f"context {percent:.0f}% of 1.0k") in made.render(60)[1]


def test_numbers_are_short() -> None:
    numbers = [0, 999, 1000, 9_949, 10_000, 999_499, 1_000_000, 12_345_678]

    assert [short_number(number) for number in numbers] == [
        "0", "999", "1.0k", "9.9k", "10k", "999k", "1.0M", "12.3M",
    ]  # fmt: skip


def test_folders_below_home_are_shown_with_a_tilde() -> None:
    home = Path("/home/ada")

    assert [short_folder(Path(name), home) for name in ("/home/ada", "/home/ada/a/b", "/tmp")] == [
        "~",
        "~/a/b",
        "/tmp",
    ]

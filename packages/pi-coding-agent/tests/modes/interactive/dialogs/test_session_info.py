"""The information about a session."""

from __future__ import annotations

from pathlib import Path

from pi.base.records import replace
from pi.coding.port.results import SessionState
from pi.coding.session.statistics import ContextUsage, SessionStats, TokenTotals
from pi.modes.interactive.dialogs.reports import Section
from pi.modes.interactive.dialogs.session_facts import session_info

HOME = Path("/home/ada")
STATE = SessionState(
    thinking_level="off",
    is_streaming=False,
    is_compacting=False,
    steering_mode="all",
    follow_up_mode="all",
    session_id="id",
    auto_compaction_enabled=True,
    message_count=2,
    pending_message_count=0,
)
STATS = SessionStats(
    session_id="id",
    user_messages=1,
    assistant_messages=2,
    tool_calls=3,
    tool_results=3,
    total_messages=9,
    tokens=TokenTotals(input=1200, output=80, total=1280),
    cost=0.5,
    context_usage=ContextUsage(tokens=None, context_window=200_000, percent=None),
)


def test_every_fact_has_its_row() -> None:
    assert session_info(STATE, STATS, home=HOME, cache_warming="idle") == Section(
        title="Session",
        rows=(
            ("File", "in memory"),
            ("Id", "id"),
            ("Messages", "1 from you · 2 answers · 3 tool calls"),
            ("Tokens", "1.2k in · 80 out"),
            ("Context", "? of 200k"),
            ("Cost", "$0.5000"),
            ("Cache warming", "idle"),
        ),
        paint="muted",
    )


def test_a_file_that_cannot_be_written_is_among_the_facts() -> None:
    reported = session_info(
        STATE, STATS, home=HOME, cache_warming="idle", error="The disk is full."
    )

    assert reported.rows[-1] == ("Problem", "The disk is full.")


def test_a_file_below_the_home_directory_has_a_short_path() -> None:
    stats = replace(STATS, session_file="/home/ada/.pi/agent/sessions/one.jsonl")
    info = session_info(STATE, stats, home=HOME, cache_warming="idle")

    assert info.rows[0] == ("File", "~/.pi/agent/sessions/one.jsonl")

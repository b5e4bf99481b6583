"""The facts of ``/session`` as sections of a report."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from msgspec import UNSET

from pi.coding.port.results import SessionState
from pi.coding.session.statistics import SessionStats
from pi.modes.interactive.dialogs.key_sections import tokens
from pi.modes.interactive.dialogs.reports import Section
from pi.modes.interactive.status.footer import short_folder


def session_info(
    state: SessionState,
    stats: SessionStats,
    *,
    home: Path,
    cache_warming: str,
    error: str | None = None,
) -> Section:
    """One row per fact; ``error`` says why the file is incomplete."""
    rows = list(_facts(state, stats, home, cache_warming))
    if error is not None:
        rows.append(("Problem", error))
    return Section(title="Session", rows=tuple(rows), paint="muted")


def _facts(
    state: SessionState, stats: SessionStats, home: Path, cache_warming: str
) -> Iterator[tuple[str, str]]:
    if state.session_name is not UNSET:
        yield "Name", state.session_name
    file = stats.session_file
    yield "File", short_folder(Path(file), home) if file is not UNSET else "in memory"
    yield "Id", stats.session_id
    yield (
        "Messages",
        f"{stats.user_messages} from you · {_format_count(stats.assistant_messages, 'answer')} · "
        f"{_format_count(stats.tool_calls, 'tool call')}",
    )
    used = stats.tokens
    yield "Tokens", f"{tokens(used.input)} in · {tokens(used.output)} out"
    if used.cache_read or used.cache_write:
        yield "Cache", f"{tokens(used.cache_read)} read · {tokens(used.cache_write)} written"
    if stats.context_usage is not UNSET and (context := stats.context_usage) is not None:
        size = tokens(context.context_window)
        filled = "?" if context.percent is None else f"{context.percent:.0f}%"
        yield "Context", f"{filled} of {size}"
    yield "Cost", f"${stats.cost:.4f}"
    yield "Cache warming", cache_warming


def _format_count(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"

"""What a session is: where it is kept, how long it is, what it cost. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from pi.base.records import UNSET
from pi.coding.runtime.results import SessionState
from pi.coding.session.numbers import SessionStats
from pi.modes.interactive.dialogs.sections import Section
from pi.modes.interactive.dialogs.usage import tokens


def session_info(
    state: SessionState, stats: SessionStats, *, cache_warming: str, problem: str | None = None
) -> Section:
    """One row per fact; ``problem`` is why the file lacks something."""
    rows = list(_facts(state, stats, cache_warming))
    if problem is not None:
        rows.append(("Problem", problem))
    return Section(title="Session", rows=tuple(rows))


def _facts(
    state: SessionState, stats: SessionStats, cache_warming: str
) -> Iterator[tuple[str, str]]:
    if state.session_name is not UNSET:
        yield "Name", state.session_name
    yield "File", str(stats.session_file) if stats.session_file is not UNSET else "in memory"
    yield "Id", stats.session_id
    yield (
        "Messages",
        f"{stats.user_messages} from you, {_counted(stats.assistant_messages, 'answer')}, "
        f"{_counted(stats.tool_calls, 'tool call')}, {_counted(stats.tool_results, 'result')}",
    )
    used = stats.tokens
    yield (
        "Tokens",
        f"{tokens(used.input)} in, {tokens(used.output)} out, {tokens(used.cache_read)} from and "
        f"{tokens(used.cache_write)} to the cache, {tokens(used.total)} in all",
    )
    yield "Cost", f"${stats.cost:.4f}"
    yield "Cache warming", cache_warming


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"

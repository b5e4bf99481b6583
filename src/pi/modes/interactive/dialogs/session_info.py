"""What a session is: where it is kept, how long it is, what it cost. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from pi.base.records import UNSET
from pi.coding.runtime.results import SessionState
from pi.coding.session.numbers import SessionStats
from pi.modes.interactive.dialogs.usage import tokens


def session_info(state: SessionState, stats: SessionStats, *, cache_warming: str) -> str:
    """Markdown with one line per fact."""
    lines = (f"- **{name}**: {value}" for name, value in _facts(state, stats, cache_warming))
    return "## Session\n" + "\n".join(lines)


def _facts(
    state: SessionState, stats: SessionStats, cache_warming: str
) -> Iterator[tuple[str, str]]:
    if state.session_name is not UNSET:
        yield "Name", state.session_name
    yield "File", _code(str(stats.session_file)) if stats.session_file is not UNSET else "in memory"
    yield "Id", _code(stats.session_id)
    yield (
        "Messages",
        f"{stats.user_messages} from you, {stats.assistant_messages} answers, "
        f"{stats.tool_calls} tool calls, {stats.tool_results} results",
    )
    used = stats.tokens
    yield (
        "Tokens",
        f"{tokens(used.input)} in, {tokens(used.output)} out, {tokens(used.cache_read)} from and "
        f"{tokens(used.cache_write)} to the cache, {tokens(used.total)} in all",
    )
    yield "Cost", f"${stats.cost:.4f}"
    context = stats.context_usage
    if context is not UNSET:
        percent = "?" if context.percent is None else f"{context.percent:.1f}"
        yield "Window", f"{percent} % of {tokens(context.context_window)}"
    yield "Cache warming", cache_warming


def _code(text: str) -> str:
    return f"`{text}`"

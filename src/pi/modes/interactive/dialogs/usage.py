"""What a session has used: tokens and money, over time and by model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pi.ai.messages import AssistantMessage, Usage
from pi.base.records import Record
from pi.base.terminal_text import one_line
from pi.coding.export.totals import Spent, Totals, add_up, dollars
from pi.coding.session.entries import Entry, MessageEntry
from pi.coding.session.numbers import ContextUsage
from pi.modes.interactive.dialogs.charts import bar, sparkline
from pi.modes.interactive.theme import Theme
from pi.tui.text.slicing import truncate_to_width
from pi.tui.text.width import visible_width
from pi.tui.text.wrap import wrap_text

_LABEL = 9
"""Columns of the words before charts."""
_LEAST_BAR, _MOST_BAR = 4, 20
_LEAST_NAME = 8


class SessionUsage(Record):
    """Everything that the charts show."""

    totals: Totals
    answers: tuple[Usage, ...]
    """One for each answer, in their order."""
    context: ContextUsage | None = None


def usage_of(entries: Sequence[Entry], context: ContextUsage | None) -> SessionUsage:
    """What was used by the answers of a session, on all branches."""
    return SessionUsage(totals=add_up(entries), answers=tuple(_answers(entries)), context=context)


def tokens(count: float) -> str:
    """A number of tokens: ``840``, ``12.3k``, ``4.1M``."""
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if count >= size:
            return f"{count / size:.1f}".removesuffix(".0") + unit
    return str(round(count))


class UsageView:
    """Totals, charts and models, for the transcript."""

    def __init__(self, usage: SessionUsage, theme: Theme) -> None:
        self._usage = usage
        self._theme = theme
        self._charts = ChartsView(usage, theme)

    def invalidate(self) -> None:
        """Nothing is remembered."""

    def render(self, width: int) -> list[str]:
        """Totals, the window, one column per answer, one bar per model."""
        room = max(width - 2, 1)
        totals, models = self._totals(room), self._models(room, _bar_width(width))
        charts = self._charts.render(width)
        return ["", *_fitted(totals, width), *charts, *_fitted([*models, ""], width)]

    def _totals(self, width: int) -> list[str]:
        spent = self._usage.totals.all
        usage = spent.usage
        heading = self._theme.paint("accent", bold=True)("Usage")
        parts = (
            f"{spent.requests} request{'' if spent.requests == 1 else 's'}",
            f"↑ {tokens(usage.input)}",
            f"↓ {tokens(usage.output)}",
            f"cache R {tokens(usage.cache_read)} W {tokens(usage.cache_write)}",
            dollars(spent),
        )
        return [heading, *wrap_text(" · ".join(parts), width)]

    def _models(self, width: int, bars: int) -> list[str]:
        rows = sorted(self._usage.totals.rows, key=_weight, reverse=True)
        if not rows:
            return ["Nothing was asked yet."]
        most = _weight(rows[0]) or 1
        return [
            f"{bar(_weight(row) / most, bars)} {self._model(row, width - bars)}" for row in rows
        ]

    def _model(self, row: Spent, width: int) -> str:
        """A model and what it took; where there is no room for both, the name is cut."""
        told = f"{row.requests}× · {tokens(_all_tokens(row))} · {dollars(row)}"
        room = max(width - visible_width(told) - 3, _LEAST_NAME)
        name = truncate_to_width(one_line(row.what), room, "…")
        return f"{name}  {self._theme.paint('muted')(told)}"


class ChartsView:
    """How full the window is, and what each answer took: the charts by themselves."""

    def __init__(self, usage: SessionUsage, theme: Theme) -> None:
        self._usage = usage
        self._theme = theme

    def invalidate(self) -> None:
        """Nothing is remembered."""

    def render(self, width: int) -> list[str]:
        """A bar for the window, then one column per answer."""
        return _fitted([*self._window(_bar_width(width)), *self._course(width - 2)], width)

    def _window(self, bars: int) -> list[str]:
        context = self._usage.context
        if context is None:
            return []
        size = tokens(context.context_window)
        if context.percent is None or context.tokens is None:
            return [self._line("window", f"? of {size} (known after the next answer)")]
        told = f"{bar(context.percent / 100, bars)} {context.percent:.0f} % of {size}"
        return [self._line("window", told)]

    def _course(self, width: int) -> list[str]:
        answers = self._usage.answers
        if len(answers) < 2:
            return []
        room = max(width - _LABEL, 1)
        read = [usage.input + usage.cache_read + usage.cache_write for usage in answers]
        rows = [self._line("read", sparkline(read, room))]
        rows.append(self._line("written", sparkline([usage.output for usage in answers], room)))
        if any(usage.cost.total for usage in answers):
            costs = [usage.cost.total for usage in answers]
            rows.append(self._line("cost", sparkline(costs, room)))
        return rows

    def _line(self, label: str, text: str) -> str:
        return f"{self._theme.paint('muted')(label.ljust(_LABEL))}{text}"


def _bar_width(width: int) -> int:
    return min(max((width - 2) // 4, _LEAST_BAR), _MOST_BAR)


def _fitted(rows: Iterable[str], width: int) -> list[str]:
    return [truncate_to_width(f" {row}" if row else "", width, "…") for row in rows]


def _answers(entries: Iterable[Entry]) -> Iterable[Usage]:
    for entry in entries:
        match entry:
            case MessageEntry(message=AssistantMessage(usage=usage)):
                yield usage


def _weight(row: Spent) -> float:
    """By cost, and by tokens where nothing costs anything."""
    return row.usage.cost.total or _all_tokens(row) / 1e9


def _all_tokens(row: Spent) -> int:
    usage = row.usage
    return usage.input + usage.output + usage.cache_read + usage.cache_write

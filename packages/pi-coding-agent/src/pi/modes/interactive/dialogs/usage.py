"""The page of ``/usage``: a table of models, the window, limits of a plan, charts of requests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from pi.ai.messages import AssistantMessage, Usage
from pi.ai.plan_limits import PlanLimit
from pi.base.records import Record
from pi.base.terminal_text import one_line
from pi.coding.export.transcript import Spent, Totals, dollars, sum_usage
from pi.coding.session.entries import Entry, MessageEntry
from pi.coding.session.statistics import ContextUsage
from pi.modes.interactive.dialogs.charts import bar, sparkline
from pi.modes.interactive.dialogs.key_sections import tokens
from pi.modes.interactive.dialogs.tables import GAP, Column, table
from pi.modes.interactive.theme import Theme
from pi.tui.text.width import pad_to_width, truncate_to_width, visible_width

# Charts -------------------------------------------------------------------------------------------


MIN_COURSE = 5
"""Minimum of requests for charts."""
_MIN_BAR, _MAX_BAR = 4, 24


class SessionUsage(Record):
    """The data of the page."""

    totals: Totals
    answers: tuple[Usage, ...]
    """One per answer, in order."""
    context: ContextUsage | None = None
    limits: tuple[PlanLimit, ...] = ()
    """The limits of the plan that the provider reported last."""
    credentials: str = ""
    """The source of the credentials that an extension chose; empty without one."""


def usage_of(
    entries: Sequence[Entry], context: ContextUsage | None, limits: tuple[PlanLimit, ...] = ()
) -> SessionUsage:
    """Return the usage of all answers of a session, on all branches."""
    return SessionUsage(
        totals=sum_usage(entries),
        answers=tuple(_usages_of(entries)),
        context=context,
        limits=limits,
    )


_NONE = "–"
_COLUMNS = (
    Column(title="model", align="left"),
    Column(title="requests", rank=2),
    Column(title="input", rank=1),
    Column(title="output", rank=1),
    Column(title="cache read", rank=3),
    Column(title="cache written", rank=4),
    Column(title="cost"),
)


class UsageView:
    """Models, window, limits and charts, for the transcript."""

    def __init__(self, usage: SessionUsage, theme: Theme, *, now: float) -> None:
        self._usage = usage
        self._theme = theme
        self._now = now

    def invalidate(self) -> None:
        """Do nothing: no rows are cached."""

    def render(self, width: int) -> list[str]:
        """A table of models, bars with labels, and one column per request."""
        inner_width = max(width - 2, 1)
        rows = ["", self._theme.heading("Usage"), *self._models(inner_width)]
        for part in (self._bars(inner_width), self._course(inner_width)):
            rows += ["", *part] if part else []
        return [truncate_to_width(f" {row}" if row else "", width, "…") for row in [*rows, ""]]

    def _models(self, width: int) -> list[str]:
        models = sorted(self._usage.totals.rows, key=_weight, reverse=True)
        if not models:
            return ["No requests yet."]
        rows = [_row(row) for row in models]
        if len(models) > 1:
            rows.append(_row(self._usage.totals.all, "total"))
        used = [index for index in range(len(_COLUMNS)) if any(row[index] != _NONE for row in rows)]
        columns = [_COLUMNS[index] for index in used]
        cells = [[row[index] for index in used] for row in rows]
        return table(columns, cells, width, heading=self._theme.paint("muted"))

    def _bars(self, width: int) -> list[str]:
        """The window of the model, and what is left of a plan."""
        rows: list[tuple[str, float | None, str]] = []
        context = self._usage.context
        if context is not None:
            size = tokens(context.context_window)
            if context.percent is None:
                rows.append(("context", None, f"? of {size}, known after the next answer"))
            else:
                rows.append(("context", context.percent, f"{context.percent:.0f}% of {size} used"))
        for limit in self._usage.limits:
            remaining_percent = max(100 - limit.used_percent, 0.0)
            resets = f", resets {_moment(limit.resets_at, self._now)}" if limit.resets_at else ""
            rows.append((limit.name, limit.used_percent, f"{remaining_percent:.0f}% left{resets}"))
        if self._usage.credentials:
            rows.append(("credentials", None, self._usage.credentials))
        labels = max((visible_width(label) for label, _, _ in rows), default=0)
        bars = min(max((width - labels) // 3, _MIN_BAR), _MAX_BAR)
        return [
            f"{self._label(label, labels)}{self._bar(percent, bars)}{text}"
            for label, percent, text in rows
        ]

    def _bar(self, percent: float | None, width: int) -> str:
        if percent is None:
            return ""
        token = "error" if percent > 90 else "warning" if percent > 70 else "accent"
        return f"{self._theme.paint(token)(bar(percent / 100, width))} "

    def _course(self, width: int) -> list[str]:
        answers = self._usage.answers
        if len(answers) < MIN_COURSE:
            return []
        read = [usage.input + usage.cache_read + usage.cache_write for usage in answers]
        written = [usage.output for usage in answers]
        series: list[tuple[str, Sequence[float], Callable[[float], str]]] = [
            ("input", read, tokens),
            ("output", written, tokens),
        ]
        if any(usage.cost.total for usage in answers):
            series.append(("cost", [usage.cost.total for usage in answers], _money))
        ranges = [f"{show(min(values))} to {show(max(values))}" for _, values, show in series]
        labels = max(len(label) for label, _, _ in series)
        chart = min(max(width - labels - max(map(len, ranges)) - 4, 1), len(answers))
        title = self._theme.paint("muted")(f"the {len(answers)} requests, oldest first")
        return [
            title,
            *(
                f"{self._label(label, labels)}{sparkline(values, chart)}  {text}"
                for (label, values, _), text in zip(series, ranges, strict=True)
            ),
        ]

    def _label(self, text: str, width: int) -> str:
        return self._theme.paint("muted")(pad_to_width(text, width)) + " " * GAP


def _row(spent: Spent, name: str = "") -> tuple[str, ...]:
    usage = spent.usage
    counts = (usage.input, usage.output, usage.cache_read, usage.cache_write)
    return (
        one_line(name or spent.what),
        str(spent.requests),
        *(tokens(count) if count else _NONE for count in counts),
        dollars(spent),
    )


def _money(cost: float) -> str:
    return f"${cost:.3f}"


def _moment(timestamp: float, now: float) -> str:
    """A time of today as ``14:20``, another day with its date."""
    moment, today = (datetime.fromtimestamp(instant).astimezone() for instant in (timestamp, now))
    is_today = moment.date() == today.date()
    return f"{moment:%H:%M}" if is_today else f"{moment:%b %d, %H:%M}"


def _usages_of(entries: Iterable[Entry]) -> Iterable[Usage]:
    for entry in entries:
        match entry:
            case MessageEntry(message=AssistantMessage(usage=usage)):
                yield usage


def _weight(row: Spent) -> float:
    """Sort key: cost, or tokens if nothing has a cost."""
    usage = row.usage
    everything = usage.input + usage.output + usage.cache_read + usage.cache_write
    return usage.cost.total or everything / 1e9

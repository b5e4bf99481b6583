"""Reports for the transcript: keys, commands, usage, session information."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import UNSET

from pi.ai.messages import AssistantMessage, Usage
from pi.base.records import Record
from pi.base.terminal_text import one_line
from pi.coding.export.transcript import Spent, Totals, dollars, sum_usage
from pi.coding.port.results import SessionState
from pi.coding.session.entries import Entry, MessageEntry
from pi.coding.session.views import ContextUsage, SessionStats
from pi.modes.interactive.dialogs.panel import shown_key
from pi.modes.interactive.theme import Theme
from pi.tui.input.actions import ACTIONS, Action, Place
from pi.tui.input.keymap import Keymap
from pi.tui.text.width import pad_to_width, truncate_to_width, visible_width
from pi.tui.text.wrap import wrap_text

_GAP = 2


class Section(Record):
    """A titled list of names and descriptions."""

    title: str
    rows: tuple[tuple[str, str], ...]


class SectionsView:
    """Sections one below the other, with the names in one column."""

    def __init__(self, theme: Theme, sections: Sequence[Section]) -> None:
        self._theme = theme
        self._sections = sections

    def invalidate(self) -> None:
        """Does nothing: no rows are cached."""

    def render(self, width: int) -> list[str]:
        """A title and rows for each section; a long description goes below its name."""
        inside = max(width - 2, 1)
        names = [visible_width(name) for section in self._sections for name, _ in section.rows]
        column = min(max(names, default=0), inside // 2)
        rows: list[str] = []
        for section in self._sections:
            rows += ["", self._theme.paint("mdHeading", bold=True)(section.title)]
            rows += self._listed(section, column, inside)
        return [truncate_to_width(f" {row}" if row else "", width, "…") for row in rows]

    def _listed(self, section: Section, column: int, width: int) -> Iterator[str]:
        paint = self._theme.paint("mdCode")
        margin = " " * (column + _GAP)
        for name, what in section.rows:
            name = one_line(name)
            text = wrap_text(one_line(what), max(width - len(margin), 1)) if what else []
            if visible_width(name) > column or not text:
                yield paint(name)
            else:
                yield paint(pad_to_width(name, column)) + " " * _GAP + text.pop(0)
            yield from (margin + row for row in text)


# Lists of keys and commands, generated from the program's tables. Pure.


_PLACES: dict[Place, str] = {
    "prompt": "While writing",
    "anywhere": "Editing and lists",
    "models": "In lists of models",
    "sessions": "In the list of sessions",
    "tree": "In the session tree",
    "vim": "In vim mode",
}
_FULLSCREEN, _OF_FULLSCREEN = "In fullscreen mode", "tui.altScreen."

_PREFIXES = (
    ("/", "commands"),
    ("@", "files"),
    ("!", "run a command; the model sees its output"),
    ("!!", "run a command that the model does not see"),
)


class CommandHelp(Record):
    """A command in the help."""

    name: str
    hint: str = ""
    description: str = ""


def key_sections(
    keymap: Keymap, others: Mapping[str, str] | None = None, *, with_vim: bool = False
) -> list[Section]:
    """Returns all bound keys by context; ``others`` are those of extensions."""
    rows: dict[str, list[tuple[str, str]]] = {
        title: [] for title in (*_PLACES.values(), _FULLSCREEN)
    }
    for action in ACTIONS:
        if action.place == "vim" and not with_vim:
            continue
        if keys := keymap.keys(action.id):
            rows[_where(action)].append((" ".join(map(shown_key, keys)), action.description))
    rows["Of extensions"] = [
        (shown_key(key), description) for key, description in (others or {}).items()
    ]
    listed = [Section(title=title, rows=tuple(found)) for title, found in rows.items() if found]
    return [*listed, Section(title="At the beginning of a message", rows=_PREFIXES)]


def command_section(rows: Iterable[CommandHelp]) -> Section:
    """Returns all commands."""
    listed = ((f"/{row.name}{' ' + row.hint if row.hint else ''}", row.description) for row in rows)
    return Section(title="Commands", rows=tuple(listed))


def _where(action: Action) -> str:
    return _FULLSCREEN if action.id.startswith(_OF_FULLSCREEN) else _PLACES[action.place]


# Small charts made of characters. Pure.


_STEPS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float], width: int) -> str:
    """One column per value; if there are too many, each column shows the maximum of its range."""
    if not values or width < 1:
        return ""
    columns = _gathered(values, min(width, len(values)))
    most = max(columns)
    if most <= 0:
        return _STEPS[0] * len(columns)
    return "".join(_STEPS[_step(value / most, len(_STEPS) - 1)] for value in columns)


def bar(fraction: float, width: int) -> str:
    """A bar of ``width`` columns; a small share is never empty."""
    full = _step(fraction, width)
    if fraction > 0:
        full = max(full, min(1, width))
    return "█" * full + "░" * (width - full)


def _step(fraction: float, most: int) -> int:
    return round(min(max(fraction, 0.0), 1.0) * most)


def _gathered(values: Sequence[float], columns: int) -> list[float]:
    edges = [len(values) * place // columns for place in range(columns + 1)]
    return [max(values[edges[at] : edges[at + 1]]) for at in range(columns)]


# Usage of a session: tokens and cost, over time and by model.


_LABEL = 9
"""Width of the labels before charts."""
_MIN_BAR, _MAX_BAR = 4, 20
_MIN_NAME = 8


class SessionUsage(Record):
    """The data of the charts."""

    totals: Totals
    answers: tuple[Usage, ...]
    """One per answer, in order."""
    context: ContextUsage | None = None


def usage_of(entries: Sequence[Entry], context: ContextUsage | None) -> SessionUsage:
    """Returns the usage of all answers of a session, on all branches."""
    return SessionUsage(
        totals=sum_usage(entries), answers=tuple(_answers(entries)), context=context
    )


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
        """Does nothing: no rows are cached."""

    def render(self, width: int) -> list[str]:
        """Totals, the context window, one column per answer, one bar per model."""
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
            return ["No requests yet."]
        most = _weight(rows[0]) or 1
        return [
            f"{bar(_weight(row) / most, bars)} {self._model(row, width - bars)}" for row in rows
        ]

    def _model(self, row: Spent, width: int) -> str:
        """A model and its usage; the name is truncated if both do not fit."""
        text = f"{row.requests}× · {tokens(_all_tokens(row))} · {dollars(row)}"
        room = max(width - visible_width(text) - 3, _MIN_NAME)
        name = truncate_to_width(one_line(row.what), room, "…")
        return f"{name}  {self._theme.paint('muted')(text)}"


class ChartsView:
    """Context usage and tokens per answer: the charts alone."""

    def __init__(self, usage: SessionUsage, theme: Theme) -> None:
        self._usage = usage
        self._theme = theme

    def invalidate(self) -> None:
        """Does nothing: no rows are cached."""

    def render(self, width: int) -> list[str]:
        """A bar for the context window, then one column per answer."""
        return _fitted([*self._window(_bar_width(width)), *self._course(width - 2)], width)

    def _window(self, bars: int) -> list[str]:
        context = self._usage.context
        if context is None:
            return []
        size = tokens(context.context_window)
        if context.percent is None or context.tokens is None:
            return [self._line("window", f"? of {size} (known after the next answer)")]
        text = f"{bar(context.percent / 100, bars)} {context.percent:.0f} % of {size}"
        return [self._line("window", text)]

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
    return min(max((width - 2) // 4, _MIN_BAR), _MAX_BAR)


def _fitted(rows: Iterable[str], width: int) -> list[str]:
    return [truncate_to_width(f" {row}" if row else "", width, "…") for row in rows]


def _answers(entries: Iterable[Entry]) -> Iterable[Usage]:
    for entry in entries:
        match entry:
            case MessageEntry(message=AssistantMessage(usage=usage)):
                yield usage


def _weight(row: Spent) -> float:
    """Sort key: cost, or tokens if nothing has a cost."""
    return row.usage.cost.total or _all_tokens(row) / 1e9


def _all_tokens(row: Spent) -> int:
    usage = row.usage
    return usage.input + usage.output + usage.cache_read + usage.cache_write


# Session information: file, size, cost. Pure.


def session_info(
    state: SessionState, stats: SessionStats, *, cache_warming: str, problem: str | None = None
) -> Section:
    """One row per fact; ``problem`` says why the file is incomplete."""
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

"""Reports for the transcript: keys, commands, session information."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import UNSET

from pi.base.records import Record
from pi.base.terminal_text import one_line
from pi.coding.port.results import SessionState
from pi.coding.session.statistics import SessionStats
from pi.modes.interactive.dialogs.message import shown_key
from pi.modes.interactive.status.footer import short_folder
from pi.modes.interactive.theme import Theme
from pi.tui.input.actions import ACTIONS, Action, KeyContext
from pi.tui.input.keymap import Keymap
from pi.tui.text.width import pad_to_width, truncate_to_width, visible_width
from pi.tui.text.wrap import wrap_parts

_GAP = 2
_BETWEEN = " · "
_TYPED = "mdCode"
_NARROW = 32
"""Columns below which descriptions are not wrapped beside their names."""
_WIDEST_NAME = 28
"""A longer name has a row of its own: one long usage must not squeeze all descriptions."""


class Section(Record):
    """A titled list of names and descriptions."""

    title: str
    rows: tuple[tuple[str, str], ...]
    paint: str = _TYPED
    """The theme colour of the names: ``mdCode`` for typed text, ``muted`` for labels."""


class SectionsView:
    """Sections one below the other, with the names in one column."""

    def __init__(self, theme: Theme, sections: Sequence[Section]) -> None:
        self._theme = theme
        self._sections = sections

    def invalidate(self) -> None:
        """Do nothing: no rows are cached."""

    def render(self, width: int) -> list[str]:
        """A title and rows for each section.

        Where the column of descriptions is narrow, one that does not fit goes below its name, and
        so do all others of a list of commands or keys.
        """
        inside = max(width - 2, 1)
        names = [visible_width(name) for section in self._sections for name, _ in section.rows]
        usual = [columns for columns in names if columns <= _WIDEST_NAME] or names
        column = min(max(usual, default=0), inside // 2)
        rows: list[str] = []
        for section in self._sections:
            rows += ["", self._theme.heading(section.title)]
            rows += self._section_rows(section, column, inside)
        return [truncate_to_width(f" {row}" if row else "", width, "…") for row in rows]

    def _section_rows(self, section: Section, column: int, width: int) -> Iterator[str]:
        paint = self._theme.paint(section.paint)
        margin = " " * (column + _GAP)
        value_width = max(width - len(margin), 1)
        rows = [(one_line(name), one_line(value)) for name, value in section.rows]
        is_long = [
            value_width < _NARROW and visible_width(value) > value_width for _, value in rows
        ]
        is_stacked = section.paint == _TYPED and any(is_long)
        for (name, value), does_not_fit in zip(rows, is_long, strict=True):
            if is_stacked or does_not_fit:
                if name:
                    yield paint(name)
                below = wrap_parts(value, _BETWEEN, max(width - _GAP, 1))
                yield from (" " * _GAP + row for row in below)
                continue
            text = wrap_parts(value, _BETWEEN, value_width)
            if visible_width(name) > column or not text:
                yield paint(name)
            else:
                yield paint(pad_to_width(name, column)) + " " * _GAP + text.pop(0)
            yield from (margin + row for row in text)


# Keys and commands --------------------------------------------------------------------------------


_CONTEXTS: dict[KeyContext, str] = {
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
    """Return all bound keys by context; ``others`` are those of extensions."""
    rows: dict[str, list[tuple[str, str]]] = {
        title: [] for title in (*_CONTEXTS.values(), _FULLSCREEN)
    }
    for action in ACTIONS:
        if action.context == "vim" and not with_vim:
            continue
        if keys := keymap.keys(action.id):
            rows[_section_title(action)].append(
                (" ".join(map(shown_key, keys)), action.description)
            )
    rows["Of extensions"] = [
        (shown_key(key), description) for key, description in (others or {}).items()
    ]
    listed = [
        Section(title=title, rows=tuple(key_rows)) for title, key_rows in rows.items() if key_rows
    ]
    return [*listed, Section(title="At the beginning of a message", rows=_PREFIXES)]


_GROUPS: dict[str, tuple[str, ...]] = {
    "Sessions": (
        *("new", "clear", "resume", "tree", "fork", "branch", "clone", "name", "import"),
        *("session", "usage", "context", "compact", "export", "share", "copy", "dump"),
    ),
    "Models": ("model", "thinking", "scoped-models", "login", "logout"),
    "Project": ("init", "review", "trust", "extensions", "reload"),
    "Application": (
        *("settings", "theme", "help", "hotkeys", "changelog", "doctor", "bug", "quit", "exit"),
    ),
}
_OTHERS = "Extensions, skills and templates"
_ACTIONS = {
    "model": "app.model.select",
    "thinking": "app.thinking.cycle",
    "scoped-models": "app.model.cycleForward",
    "copy": "app.message.copy",
    "new": "app.session.new",
    "tree": "app.session.tree",
    "fork": "app.session.fork",
    "resume": "app.session.resume",
    "quit": "app.exit",
}
"""Actions by command: their keys run the same command."""
OWN = "pi:"


def command_sections(rows: Iterable[CommandHelp], keymap: Keymap) -> list[Section]:
    """Return all commands by subject and name, each with its key."""
    groups = {name: title for title, names in _GROUPS.items() for name in names}
    rows_by_title: dict[str, list[tuple[str, str]]] = {title: [] for title in (*_GROUPS, _OTHERS)}
    for row in sorted(rows, key=lambda row: row.name.removeprefix(OWN)):
        name = row.name.removeprefix(OWN)
        keys = keymap.keys(_ACTIONS[name]) if name in _ACTIONS else ()
        described = " · ".join(filter(None, (row.description, shown_key(keys[0]) if keys else "")))
        hint = f" {row.hint}" if row.hint else ""
        rows_by_title[groups.get(name, _OTHERS)].append((f"/{row.name}{hint}", described))
    return [Section(title=title, rows=tuple(rows)) for title, rows in rows_by_title.items() if rows]


def _section_title(action: Action) -> str:
    return _FULLSCREEN if action.id.startswith(_OF_FULLSCREEN) else _CONTEXTS[action.context]


def tokens(count: float) -> str:
    """A number of tokens: ``840``, ``12.3k``, ``4.1M``."""
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if count >= size:
            return f"{count / size:.1f}".removesuffix(".0") + unit
    return str(round(count))


# Session information ------------------------------------------------------------------------------


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

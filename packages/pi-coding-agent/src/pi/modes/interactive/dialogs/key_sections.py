"""All keys and commands as sections of a report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pi.base.records import Record
from pi.modes.interactive.dialogs.message import shown_key
from pi.modes.interactive.dialogs.reports import Section
from pi.tui.input.actions import ACTIONS, Action, KeyContext
from pi.tui.input.keymap import Keymap

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

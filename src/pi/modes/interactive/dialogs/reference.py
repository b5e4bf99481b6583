"""Keys and commands in lists, made from the same rows that the program uses. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pi.base.records import Record
from pi.modes.interactive.dialogs.panel import shown_key
from pi.modes.interactive.dialogs.sections import Section
from pi.tui.input.actions import ACTIONS, Action, Place
from pi.tui.input.keymap import Keymap

_PLACES: dict[Place, str] = {
    "prompt": "While writing",
    "anywhere": "Editing and lists",
    "models": "In lists of models",
    "sessions": "In the list of sessions",
    "tree": "In the session tree",
}
_FULLSCREEN, _OF_FULLSCREEN = "In fullscreen mode", "tui.altScreen."

_PREFIXES = (
    ("/", "commands"),
    ("@", "files"),
    ("!", "run a command; the model sees its output"),
    ("!!", "run a command that the model does not see"),
)


class Named(Record):
    """A command as the help shows it."""

    name: str
    hint: str = ""
    description: str = ""


def key_sections(keymap: Keymap, others: Mapping[str, str] | None = None) -> list[Section]:
    """Every key that does something, by where it does; ``others`` are those of extensions."""
    rows: dict[str, list[tuple[str, str]]] = {
        title: [] for title in (*_PLACES.values(), _FULLSCREEN)
    }
    for action in ACTIONS:
        if keys := keymap.keys(action.id):
            rows[_where(action)].append((" ".join(map(shown_key, keys)), action.description))
    rows["Of extensions"] = [
        (shown_key(key), description) for key, description in (others or {}).items()
    ]
    listed = [Section(title=title, rows=tuple(found)) for title, found in rows.items() if found]
    return [*listed, Section(title="At the beginning of a message", rows=_PREFIXES)]


def command_section(rows: Iterable[Named]) -> Section:
    """Every command."""
    listed = ((f"/{row.name}{' ' + row.hint if row.hint else ''}", row.description) for row in rows)
    return Section(title="Commands", rows=tuple(listed))


def _where(action: Action) -> str:
    return _FULLSCREEN if action.id.startswith(_OF_FULLSCREEN) else _PLACES[action.place]

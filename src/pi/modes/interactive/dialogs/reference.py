"""Keys and commands as tables, made from the same rows that the program uses. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pi.base.records import Record
from pi.modes.interactive.dialogs.panel import shown_key
from pi.tui.input.actions import ACTIONS, Place
from pi.tui.input.keymap import Keymap

_PLACES: dict[Place, str] = {
    "prompt": "While writing",
    "anywhere": "Editing and lists",
    "models": "In lists of models",
    "sessions": "In the list of sessions",
    "tree": "In the session tree",
}


class Named(Record):
    """A command as the help shows it."""

    name: str
    hint: str = ""
    description: str = ""


def key_tables(keymap: Keymap, others: Mapping[str, str] | None = None) -> str:
    """Every key that does something, as Markdown; ``others`` are those of extensions."""
    parts = []
    for place, title in _PLACES.items():
        rows = [
            (" ".join(f"`{shown_key(key)}`" for key in keymap.keys(action.id)), action.description)
            for action in ACTIONS
            if action.place == place and keymap.keys(action.id)
        ]
        if rows:
            parts.append(f"## {title}\n\n{_table(('Key', 'What it does'), rows)}")
    if others:
        rows = [(f"`{shown_key(key)}`", description) for key, description in others.items()]
        parts.append(f"## Of extensions\n\n{_table(('Key', 'What it does'), rows)}")
    prefixes = [
        ("`/`", "commands"),
        ("`@`", "files"),
        ("`!`", "run a command; the model sees its output"),
        ("`!!`", "run a command that the model does not see"),
    ]
    parts.append(f"## At the beginning\n\n{_table(('Typed', 'What it does'), prefixes)}")
    return "\n\n".join(parts)


def command_table(rows: Iterable[Named]) -> str:
    """Every command, as Markdown."""
    listed = [
        (f"`/{row.name}{' ' + row.hint if row.hint else ''}`", row.description) for row in rows
    ]
    return f"## Commands\n\n{_table(('Command', 'What it does'), listed)}"


def _table(head: tuple[str, str], rows: Iterable[tuple[str, str]]) -> str:
    lines = [head, ("---", "---"), *rows]
    return "\n".join(f"| {_cell(left)} | {_cell(right)} |" for left, right in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")

"""docs/guide/settings.md and keys.md, made from the code; run this module to write them."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from pi.modes.interactive.commands.built_in import BUILT_IN
from pi.modes.interactive.dialogs.settings.rows import SETTINGS
from pi.modes.interactive.dialogs.settings.setting import Setting
from pi.tui.input.actions import ACTIONS, Action

GUIDE = Path(__file__).parent.parent / "docs" / "guide"
PLACES = {
    "anywhere": "Anywhere",
    "prompt": "At the prompt",
    "sessions": "In the list of sessions",
    "models": "In the list of models",
    "tree": "In the tree",
}
SETTINGS_HEAD = """\
# Settings

`/settings` shows and changes all of them; type to search. They live in
`~/.pi/agent/settings.json`, and a trusted project may have its own in `.pi/settings.json`, which
win. Both are JSON with nested objects (`compaction.enabled` is
`{"compaction": {"enabled": false}}`). Keys that pi does not know are kept as they are, and a file
that is broken is reported and never replaced. After editing by hand: `/reload`.

Made from the code by `python -m tests.guide_tables`.
"""
KEYS_HEAD = """\
# Keys and commands

`/hotkeys` and `/help` show this in the application. To bind other keys, write
`~/.pi/agent/keybindings.json`: `{"app.model.select": ["ctrl+l", "f2"]}`; an empty list takes an
action off the keyboard. Two actions on one key are reported at the start. `/reload` reads the file
again.

Made from the code by `python -m tests.guide_tables`.
"""


def settings_page() -> str:
    """Every setting with its values."""
    parts = [SETTINGS_HEAD]
    for group, settings in groupby(SETTINGS, key=lambda setting: setting.group):
        parts += [f"## {group}\n", "| setting | values | |", "|---|---|---|"]
        parts += [f"| `{each.name}` | {_values(each)} | {each.description} |" for each in settings]
        parts.append("")
    return "\n".join(parts)


def keys_page() -> str:
    """Every action and every command."""
    parts = [KEYS_HEAD]
    for place, actions in groupby(sorted(ACTIONS, key=_place), key=_place):
        parts += [f"## {list(PLACES.values())[place]}\n", "| keys | action | |", "|---|---|---|"]
        parts += [f"| {_keys(each)} | `{each.id}` | {each.description} |" for each in actions]
        parts.append("")
    parts += ["## Commands\n", "| command | |", "|---|---|"]
    parts += [
        f"| `{f'/{row.name} {row.hint}'.rstrip()}` | {row.description} |"
        for row in BUILT_IN
        if row.listed
    ]
    return "\n".join([*parts, ""])


PAGES = {GUIDE / "settings.md": settings_page, GUIDE / "keys.md": keys_page}


def _place(action: Action) -> int:
    return list(PLACES).index(action.place)


def _keys(action: Action) -> str:
    return ", ".join(f"`{key}`" for key in action.posix) or "none"


def _values(setting: Setting) -> str:
    if setting.kind == "choice":
        first, *others = map(_written, setting.choices)
        if setting.default is False:
            first, *others = _written(False), _written(True)
        return ", ".join([f"**{first}**", *others])
    kinds = {"number": "number", "text": "text", "list": "list of texts", "json": "JSON"}
    default = "" if setting.default is None else f", **`{setting.default}`**"
    return kinds[setting.kind] + default


def _written(value: object) -> str:
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


if __name__ == "__main__":
    for path, page in PAGES.items():
        path.write_text(page(), encoding="utf-8")

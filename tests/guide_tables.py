"""Pages of docs/ that are made from the code; run this module to write them."""

from __future__ import annotations

import json
from itertools import groupby

from pi.coding.settings.setting import Setting
from pi.coding.settings.table import SETTINGS, WITHOUT_EFFECT, WRITTEN_BY_PI
from pi.modes.interactive.commands.table import BUILT_IN
from pi.tui.input.actions import ACTIONS, Action
from scripts.workspace import ROOT
from tests import json_schemas

GUIDE = ROOT / "docs" / "guide"
PLACES = {
    "anywhere": "Anywhere",
    "prompt": "At the prompt",
    "sessions": "In the list of sessions",
    "models": "In the list of models",
    "tree": "In the tree",
    "vim": "In vim mode (the setting `editor.mode`)",
}
SETTINGS_HEAD = """\
# Settings

`/settings` shows and changes all of them; type to search. They live in
`~/.pi/agent/settings.json`, and a trusted project may have its own in `.pi/settings.json`, which
wins. Both are JSON with nested objects (`compaction.enabled` is
`{"compaction": {"enabled": false}}`). Comments and trailing commas are allowed: pi writes none and
keeps those that it finds, but the original cannot read such a file. Keys that pi does not know are
kept as they are. After editing by hand: `/reload`.

`config.yml` beside each of them holds the same settings in YAML, below `settings.json`; pi only
reads it. `--config FILE` (more than once) and `PI_CONFIG_FILES` add files for one run, above those
of the project.

A file that cannot be read is never replaced, and no session starts with it: `pi -p`, JSON, RPC, ACP
and batches end with exit code 1 and the path, line and column. In a terminal pi asks whether to
edit the file, to start with all guards at their strictest, or to quit. An empty file, YAML with
several documents, tags or merge keys, and a file that sets a guard twice cannot be read, either. A
value of the wrong type is ignored with a warning, except for guards (`permissions`, `sandbox`,
`secrets`, `files.sensitive`, `defaultProjectTrust`, `batteries`): there it means the strictest
choice, and a misspelt name in such a section (`secrets.enable`, `Permissions`) does, too.

`pi doctor` reports keys that do not exist (with the nearest name), values of the wrong type, names
of models, themes, tools and strategies that are not known, and settings that have no effect. Types,
defaults and when a change takes effect are in the [reference](../reference/settings.md).

Made from the code by `python -m tests.guide_tables`.
"""
REFERENCE_HEAD = """\
# Settings

Every key of `settings.json`: that of the user in the agent directory (`~/.pi/agent`), and that of a
trusted project in `.pi`. Objects merge and the project wins; `packages`, `extensions`, `skills`,
`prompts` and `themes` are combined. A name with dots stands for nested objects. Extensions may read
further keys.

- **scope**: settings of the user alone are ignored in a project's file.
- **effect**: when a change counts: at once; after `/reload` and in new sessions (reload); at the
  next start (start).

Made from the code by `python -m tests.guide_tables`.
"""
KEYS_HEAD = """\
# Keys and commands

`/hotkeys` and `/help` show this in the application. To bind other keys, write
`~/.pi/agent/keybindings.json`: `{"app.model.select": ["ctrl+l", "f2"]}`; an empty list unbinds
an action. Two actions on one key are reported at the start. `/reload` reads the file
again.

Made from the code by `python -m tests.guide_tables`.
"""


def settings_page() -> str:
    """Every setting, and what it does."""
    parts = [SETTINGS_HEAD]
    for group, settings in groupby(SETTINGS, key=lambda setting: setting.group):
        parts += [f"## {group}\n", "| setting | values | |", "|---|---|---|"]
        parts += [f"| `{each.name}` | {_values(each)} | {_described(each)} |" for each in settings]
        parts.append("")
    return "\n".join(parts)


def settings_reference() -> str:
    """Every setting with type, default, scope and effect."""
    parts = [REFERENCE_HEAD]
    for group, settings in groupby(SETTINGS, key=lambda setting: setting.group):
        parts += [f"## {group}\n", "| name | type | default | what it does | scope | effect |"]
        parts.append("|---|---|---|---|---|---|")
        parts += map(_reference_row, settings)
        parts.append("")
    parts += ["## Written by pi\n", "| name | |", "|---|---|"]
    parts += [f"| `{name}` | {what} |" for name, what in WRITTEN_BY_PI.items()]
    parts += ["", "## Without effect\n"]
    parts += ["Settings of the original that do nothing here. They stay in the file.\n"]
    parts += ["| name | why |", "|---|---|"]
    parts += [f"| `{name}` | {why} |" for name, why in WITHOUT_EFFECT.items()]
    return "\n".join([*parts, ""])


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


PAGES = {
    GUIDE / "settings.md": settings_page,
    GUIDE / "keys.md": keys_page,
    GUIDE.parent / "reference" / "settings.md": settings_reference,
    **json_schemas.PAGES,
}


def _place(action: Action) -> int:
    return list(PLACES).index(action.context)


def _keys(action: Action) -> str:
    return ", ".join(f"`{key}`" for key in action.posix) or "none"


def _values(setting: Setting) -> str:
    if setting.kind == "choice":
        others = [each for each in setting.choices if each is not setting.default]
        return ", ".join([f"**{_written(setting.default)}**", *map(_written, others)])
    kinds = {"number": "number", "text": "text", "list": "list of texts", "json": "JSON"}
    default = "" if setting.default is None else f", **{_written(setting.default)}**"
    words = "".join(f" or `{word}`" for word in setting.words)
    return kinds[setting.kind] + words + default


def _described(setting: Setting) -> str:
    return " ".join([setting.description, *setting.notes[: 1 if setting.needs else 0]])


def _reference_row(setting: Setting) -> str:
    default = "" if setting.default is None else _written(setting.default)
    scope = "user" if setting.is_global else "user, project"
    cells = (f"`{setting.name}`", _type(setting), default, _described(setting), scope)
    return f"| {' | '.join(cells)} | {setting.applies} |"


def _type(setting: Setting) -> str:
    match setting.kind:
        case "choice" if set(setting.choices) == {True, False}:
            return "boolean"
        case "choice":
            return ", ".join(map(_written, setting.choices))
        case "number":
            upper = "" if setting.most is None else f", at most {setting.most}"
            words = "".join(f" or `{word}`" for word in setting.words)
            return f"number, at least {setting.least}{upper}{words}"
        case "text":
            return "string"
        case "list":
            return "array of strings"
        case _:
            return "JSON"


def _written(value: object) -> str:
    return f"`{json.dumps(value) if isinstance(value, tuple | bool) else value}`"


if __name__ == "__main__":
    for path, page in PAGES.items():
        path.write_text(page(), encoding="utf-8")

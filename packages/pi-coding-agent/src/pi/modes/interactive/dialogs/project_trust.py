"""Asks whether to trust a project, and lists the files that need trust."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pi.coding.other_agents import CLINE_RULES, Kind, kind_of
from pi.coding.trust import CONTEXT_FILES, TrustChoice, canonical
from pi.modes.interactive.dialogs.questions import Option, choose
from pi.modes.interactive.ui import Ui

TITLE = "Trust project folder?"
EXPLANATION = (
    "Without trust none of it is used. Code runs commands in your name, and instructions steer the"
    " model: trust only folders whose content you know."
)
MAX_NAMED = 12
"""Files that the question names; further ones are counted."""


async def ask_trust(ui: Ui, folder: Path, gated: Sequence[Path]) -> TrustChoice | None:
    """Ask whether to trust a folder, and list ``gated``; ``None`` without a decision."""
    contents = gated_content(folder, gated)
    message = "\n".join([str(folder), "", *contents, "", EXPLANATION])
    return await choose(ui, TITLE, trust_options(folder), message=message)


_WIDEST_NAME = 24
"""Columns of a name, if others are longer."""
_MEANINGS = {
    "extensions": "code that runs inside pi",
    "tools": "code that the model can call",
    "skills": "instructions and scripts",
    "prompts": "text of commands",
    "commands": "text of commands",
    "instructions": "instructions for the model",
    "rules": "instructions for the model",
    "themes": "colours",
    "settings.json": "settings, which can name programs to run",
    "config.yml": "settings, which can name programs to run",
    "SYSTEM.md": "replaces the system prompt",
    "APPEND_SYSTEM.md": "adds to the system prompt",
    ".env": "environment variables",
}
"""Descriptions of files and folders below ``.pi``, and of ``.env``."""
_OF_OTHERS: dict[Kind, str] = {
    "skills": "instructions and scripts",
    "commands": "text of commands",
    "instructions": "instructions for the model",
    "rules": "instructions for the model",
    "tools": "code that the model can call",
    "settings": "variables, names of files, hooks that ask first",
    "plugins": "skills, commands and instructions",
}
"""Descriptions of the files of other agents that pi uses."""


def gated_content(folder: Path, paths: Sequence[Path]) -> list[str]:
    """Return one line for each file or folder that needs trust: its name and what it does."""
    root = Path(canonical(folder))
    named = [(_name(path, root), _meaning(path)) for path in paths[:MAX_NAMED]]
    column = min(max((len(name) for name, _ in named), default=0), _WIDEST_NAME)
    lines = [f"• {name:<{column}}  {meaning}" for name, meaning in named]
    more = len(paths) - len(lines)
    return [*lines, f"• and {more} more"] if more else lines


def _name(path: Path, folder: Path) -> str:
    try:
        return path.relative_to(folder).as_posix()
    except ValueError:  # an instruction file of a parent folder
        return str(path)


def _meaning(path: Path) -> str:
    """Return what a file or folder does; it is not opened before the answer."""
    if (kind := kind_of(path)) is not None:
        return _OF_OTHERS[kind]
    if path.name in (*CONTEXT_FILES, CLINE_RULES):
        return "instructions for the model"
    # Every other file is named by an extension, such as a list of servers to start.
    return _MEANINGS.get(path.name, "read by an extension")


async def ask_lasting_trust(ui: Ui, folder: Path) -> TrustChoice | None:
    """Ask for a decision that is saved: it applies from the next start. ``None`` without one."""
    options = [option for option in trust_options(folder) if option.value.remember]
    message = f"{folder}\n\nYour choice applies from the next start."
    return await choose(ui, TITLE, options, message=message)


def trust_options(folder: Path) -> list[Option[TrustChoice]]:
    """The answers, in order."""
    return [
        _option("Trust", folder, trusted=True, remember=True),
        _option(
            f"Trust parent folder ({folder.parent})", folder.parent, trusted=True, remember=True
        ),
        _option("Trust (this session only)", folder, trusted=True),
        _option("Do not trust", folder, trusted=False, remember=True),
        _option("Do not trust (this session only)", folder, trusted=False),
    ]


def _option(
    label: str, folder: Path, *, trusted: bool, remember: bool = False
) -> Option[TrustChoice]:
    return Option(
        value=TrustChoice(trusted=trusted, directory=folder, remember=remember), label=label
    )

"""Whether a project may be read and run: asked before anything of it is."""

from __future__ import annotations

from pathlib import Path

from pi.coding.trust.trust import Choice
from pi.modes.interactive.dialogs.questions import Option, choose
from pi.modes.interactive.ui import Ui

TITLE = "Trust project folder?"
EXPLANATION = (
    "It has instructions, settings, extensions, skills or prompts of its own. They can run"
    " commands and change what the model is told, so trust only folders whose content you know."
)


async def ask_trust(ui: Ui, folder: Path) -> Choice | None:
    """What the person says of a folder; ``None`` if they say nothing."""
    return await choose(ui, TITLE, trust_options(folder), message=f"{folder}\n\n{EXPLANATION}")


async def ask_lasting_trust(ui: Ui, folder: Path) -> Choice | None:
    """The same later, for the next time: only what is remembered makes a difference then."""
    lasting = [option for option in trust_options(folder) if option.value.remember]
    message = f"{folder}\n\nWhat you choose holds from the next start on."
    return await choose(ui, TITLE, lasting, message=message)


def trust_options(folder: Path) -> list[Option[Choice]]:
    """The answers, in their order."""
    return [
        _option("Trust", folder, trusted=True, remember=True),
        _option(
            f"Trust parent folder ({folder.parent})", folder.parent, trusted=True, remember=True
        ),
        _option("Trust (this session only)", folder, trusted=True),
        _option("Do not trust", folder, trusted=False, remember=True),
        _option("Do not trust (this session only)", folder, trusted=False),
    ]


def _option(label: str, folder: Path, *, trusted: bool, remember: bool = False) -> Option[Choice]:
    return Option(value=Choice(trusted=trusted, directory=folder, remember=remember), label=label)

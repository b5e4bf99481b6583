"""Whether a project may be read and run: asked before anything of it is."""

from __future__ import annotations

from pathlib import Path

from pi.coding.session.catalog import read_header
from pi.coding.session.errors import SessionInUse
from pi.coding.trust import TrustChoice
from pi.modes.interactive.dialogs.questions import Option, choose, confirm
from pi.modes.interactive.ui import Ui

TITLE = "Trust project folder?"
EXPLANATION = (
    "It has instructions, settings, extensions, skills or prompts of its own. They can run"
    " commands and change what the model is told, so trust only folders whose content you know."
)


async def ask_trust(ui: Ui, folder: Path) -> TrustChoice | None:
    """What the person says of a folder; ``None`` if they say nothing."""
    return await choose(ui, TITLE, trust_options(folder), message=f"{folder}\n\n{EXPLANATION}")


async def ask_lasting_trust(ui: Ui, folder: Path) -> TrustChoice | None:
    """The same later, for the next time: only what is remembered makes a difference then."""
    lasting = [option for option in trust_options(folder) if option.value.remember]
    message = f"{folder}\n\nWhat you choose holds from the next start on."
    return await choose(ui, TITLE, lasting, message=message)


def trust_options(folder: Path) -> list[Option[TrustChoice]]:
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


def _option(
    label: str, folder: Path, *, trusted: bool, remember: bool = False
) -> Option[TrustChoice]:
    return Option(
        value=TrustChoice(trusted=trusted, directory=folder, remember=remember), label=label
    )


# A session that somebody else has open: whether to go on in a fork of it.


async def ask_fork_busy_session(ui: Ui, busy: SessionInUse, *, no: str = "Leave") -> bool:
    """Whether the person goes on in a fork; ``no`` is what they do otherwise."""
    return await confirm(
        ui,
        "Open a fork of the session?",
        f"{busy.message} A fork goes on from the same point in a file of its own.",
        yes="Open a fork",
        no=no,
    )


# A session whose working directory is gone: whether to go on somewhere else.


async def confirm_missing_folder(ui: Ui, path: Path, here: str) -> bool:
    """Whether the session of a file can be opened: its folder is there, or the person says so."""
    stored = (read_header(path) or {}).get("cwd")
    if not isinstance(stored, str) or not stored or Path(stored).is_dir():
        return True
    return await ask_use_current_folder(ui, stored, here)


async def ask_use_current_folder(ui: Ui, stored: str, here: str) -> bool:
    """Whether the person goes on in another folder than the one that is gone."""
    return await confirm(
        ui,
        "The folder of this session is gone",
        f"{stored} does not exist any more. Go on here, in {here}?",
        yes="Go on here",
        no="Leave it",
    )

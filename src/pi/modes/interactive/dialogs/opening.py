"""Dialogs while a session is opened: trust, a busy session, a missing folder."""

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
    " commands and change the model's instructions, so trust only folders whose content you know."
)


async def ask_trust(ui: Ui, folder: Path) -> TrustChoice | None:
    """Returns the user's decision about a folder; ``None`` without one."""
    return await choose(ui, TITLE, trust_options(folder), message=f"{folder}\n\n{EXPLANATION}")


async def ask_lasting_trust(ui: Ui, folder: Path) -> TrustChoice | None:
    """Asks for the next start: only decisions that are saved make a difference."""
    lasting = [option for option in trust_options(folder) if option.value.remember]
    message = f"{folder}\n\nYour choice applies from the next start."
    return await choose(ui, TITLE, lasting, message=message)


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


# A session that another process has open: offers a fork.


async def ask_fork_busy_session(ui: Ui, busy: SessionInUse, *, no: str = "Leave") -> bool:
    """Returns whether the user opens a fork; ``no`` labels the other choice."""
    return await confirm(
        ui,
        "Open a fork of the session?",
        f"{busy.message} A fork continues from the same point in its own file.",
        yes="Open a fork",
        no=no,
    )


# A session whose working directory is missing.


async def confirm_missing_folder(ui: Ui, path: Path, here: str) -> bool:
    """Returns whether a session file can be opened: its folder exists, or the user confirms."""
    stored = (read_header(path) or {}).get("cwd")
    if not isinstance(stored, str) or not stored or Path(stored).is_dir():
        return True
    return await ask_use_current_folder(ui, stored, here)


async def ask_use_current_folder(ui: Ui, stored: str, here: str) -> bool:
    """Returns whether the user continues in the current folder."""
    return await confirm(
        ui,
        "The folder of this session is missing",
        f"{stored} no longer exists. Continue in {here}?",
        yes="Continue here",
        no="Cancel",
    )

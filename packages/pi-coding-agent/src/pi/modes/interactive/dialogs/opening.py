"""Dialogs while a session is opened: a busy session, broken settings, a missing folder."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias

from pi.coding.session.errors import SessionInUse
from pi.coding.session.summaries import read_header
from pi.coding.settings.files import BadSettings
from pi.modes.interactive.dialogs.questions import Option, choose, confirm
from pi.modes.interactive.ui import Ui


async def ask_fork_busy_session(ui: Ui, busy: SessionInUse, *, no: str = "Leave") -> bool:
    """Return whether the user opens a fork; ``no`` labels the other choice."""
    return await confirm(
        ui,
        "Open a fork of the session?",
        f"{busy.message} A fork continues from the same point in its own file.",
        yes="Open a fork",
        no=no,
    )


SettingsAnswer: TypeAlias = Literal["edit", "strictest"]


async def ask_about_settings(ui: Ui, error: BadSettings) -> SettingsAnswer | None:
    """Ask how to go on without a settings file; ``None`` to quit."""
    options: list[Option[SettingsAnswer | None]] = [
        Option(value="edit", label="Edit the file"),
        Option(value="strictest", label="Start with guards at their strictest"),
        Option(value=None, label="Quit"),
    ]
    message = (
        f"{error.path}\n{error.reason}\n\nWhat it says about guards is not known. At their"
        " strictest, nothing can be changed, every other call asks, commands run in the sandbox"
        " without network, secrets are hidden, and no new project is trusted."
    )
    return await choose(ui, "The settings cannot be read", options, message=message)


FolderAnswer: TypeAlias = Literal["continue", "fork"]


async def ask_about_folder(ui: Ui, path: Path, current_folder: str) -> FolderAnswer | None:
    """Ask how to open a session file if its folder is missing; ``None`` to cancel."""
    stored = (read_header(path) or {}).get("cwd")
    if not isinstance(stored, str) or not stored or Path(stored).is_dir():
        return "continue"
    return await ask_about_missing_folder(ui, stored, current_folder)


async def ask_about_missing_folder(ui: Ui, stored: str, current_folder: str) -> FolderAnswer | None:
    """Return whether the session continues in the current folder, or a fork of it does."""
    options: list[Option[FolderAnswer | None]] = [
        Option(value="continue", label="Continue here", description="asks again the next time"),
        Option(
            value="fork", label="Fork into this folder", description="the session stays as it is"
        ),
        Option(value=None, label="Cancel"),
    ]
    return await choose(
        ui,
        "The folder of this session is missing",
        options,
        message=f"{stored} no longer exists. This folder: {current_folder}",
    )

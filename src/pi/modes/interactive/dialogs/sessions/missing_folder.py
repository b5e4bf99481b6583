"""A session whose working directory is gone: whether to go on somewhere else."""

from __future__ import annotations

from pathlib import Path

from pi.coding.session.facts import read_header
from pi.modes.interactive.dialogs.questions import confirm
from pi.modes.interactive.ui import Ui


async def may_go_on(ui: Ui, path: Path, here: str) -> bool:
    """Whether the session of a file can be opened: its folder is there, or the person says so."""
    stored = (read_header(path) or {}).get("cwd")
    if not isinstance(stored, str) or not stored or Path(stored).is_dir():
        return True
    return await wants_it_here(ui, stored, here)


async def wants_it_here(ui: Ui, stored: str, here: str) -> bool:
    """Whether the person goes on in another folder than the one that is gone."""
    return await confirm(
        ui,
        "The folder of this session is gone",
        f"{stored} does not exist any more. Go on here, in {here}?",
        yes="Go on here",
        no="Leave it",
    )

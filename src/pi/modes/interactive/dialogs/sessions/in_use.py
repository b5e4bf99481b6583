"""A session that somebody else has open: whether to go on in a fork of it."""

from __future__ import annotations

from pi.coding.session.errors import SessionInUse
from pi.modes.interactive.dialogs.questions import confirm
from pi.modes.interactive.ui import Ui


async def wants_fork(ui: Ui, busy: SessionInUse, *, no: str = "Leave") -> bool:
    """Whether the person goes on in a fork; ``no`` is what they do otherwise."""
    return await confirm(
        ui,
        "Open a fork of the session?",
        f"{busy.message} A fork goes on from the same point in a file of its own.",
        yes="Open a fork",
        no=no,
    )

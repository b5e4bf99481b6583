"""Dialog that installs missing libraries: names and sizes, Yes, progress."""

from __future__ import annotations

from collections.abc import Sequence

from pi.coding.packages.libraries import install_planned, plan_libraries
from pi.modes.interactive.dialogs.questions import confirm
from pi.modes.interactive.dialogs.waiting import ShowMessage, wait_for, wait_for_steps
from pi.modes.interactive.ui import Ui


async def offer_libraries(ui: Ui, requirements: Sequence[str], purpose: str) -> bool:
    """Ask to install libraries; returns whether they are installed now.

    ``purpose`` names what needs them. Raises ``LibrariesNotInstalled``, with the command for this
    installation as hint. Reload the session afterwards.
    """
    environ, offline = ui.host.environment.of_process, ui.host.offline
    planning = plan_libraries(requirements, environ, purpose=purpose, offline=offline)
    plan = await wait_for(ui, f"Looking up the libraries of {purpose}…", planning)
    if plan is None or not await confirm(ui, plan.title, plan.text, yes="Install"):
        return False

    async def install(report: ShowMessage) -> bool:
        await install_planned(plan, environ, report)
        return True

    label = f"Installing the libraries of {purpose}…"
    return await wait_for_steps(ui, label, install) is True

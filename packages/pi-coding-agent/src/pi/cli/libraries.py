"""Installs missing libraries from a shell: names and sizes, a question, progress."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence

from pi.cli.standard_streams import print_error, rewrite_line
from pi.coding.packages.libraries import LibrariesNotInstalled, install_planned, plan_libraries
from pi.coding.runtime.machine import Machine
from pi.tui.text.width import truncate_to_width


async def offer_libraries(
    machine: Machine, requirements: Sequence[str], purpose: str, *, agrees: bool = False
) -> bool:
    """List the libraries, ask on the terminal, and install; returns whether they are installed.

    Without a terminal it cannot ask: raises ``LibrariesNotInstalled`` with the command as hint,
    unless the command line ``agrees``.
    """
    environ = machine.environment.of_process
    plan = await plan_libraries(requirements, environ, purpose=purpose, offline=machine.offline)
    sys.stdout.write(f"{plan.title}\n{plan.text}\n")
    if not agrees:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            command = plan.installation.command(requirements)
            raise LibrariesNotInstalled(
                "Nothing was installed: the question needs a terminal.",
                hint=f"Install it: {command}",
            )
        if not await _confirm():
            return False
    if sys.stderr.isatty():
        await install_planned(plan, environ, _show_progress)
        sys.stderr.write("\n")
    else:
        await install_planned(plan, environ, lambda text: None)
    print_error(f"Installed {', '.join(library.text for library in plan.libraries)}.")
    return True


def _show_progress(text: str) -> None:
    width = shutil.get_terminal_size().columns - 1
    rewrite_line(truncate_to_width(text, width).ljust(width))


async def _confirm() -> bool:
    from pi.ai.auth.terminal_ui import TypedLines  # lazy: few installations ask

    sys.stdout.write("[y/N] ")
    sys.stdout.flush()
    answer = await TypedLines().next()
    return (answer or "").strip().lower() in ("y", "yes")

"""Dialog for work in progress, cancelled with Escape; opens pages and files."""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from pi.base.processes import SpawnFailed, find_program, run
from pi.base.tasks import TaskScope
from pi.coding.runtime.machine import Machine
from pi.coding.runtime.secrets import KnownSecrets
from pi.coding.shell.environment import EnvironmentRules, program_environment
from pi.modes.interactive.dialogs.panel import make_panel
from pi.modes.interactive.dialogs.questions import ignore_task_error
from pi.modes.interactive.ui import Ui
from pi.tui.component import Component
from pi.tui.widgets.loader import CancellableLoader

T = TypeVar("T")

ShowMessage: TypeAlias = Callable[[str], None]
"""Shows a progress message."""


async def wait_for(
    ui: Ui,
    label: str,
    work: Coroutine[Any, Any, T],
    *,
    on_cancel: Callable[[], object] | None = None,
) -> T | None:
    """Return the result of ``work``; ``None`` if the user cancelled.

    Cancelling cancels the work, or calls ``on_cancel``, after which the work must end by itself.
    """
    return await wait_for_steps(ui, label, lambda report_progress: work, on_cancel=on_cancel)


async def wait_for_steps(
    ui: Ui,
    label: str,
    begin: Callable[[ShowMessage], Coroutine[Any, Any, T]],
    *,
    on_cancel: Callable[[], object] | None = None,
) -> T | None:
    """Like ``wait_for``, for work that reports its progress beside the spinner."""
    async with TaskScope(report=ignore_task_error) as tasks:

        def give_up() -> None:
            (on_cancel or task.cancel)()

        def report_progress(text: str) -> None:
            loader.set_message(text)
            ui.request_render()

        loader = CancellableLoader(
            label,
            on_cancel=give_up,
            keymap=ui.keymap,
            paint_spinner=ui.theme.paint("accent"),
            paint_message=ui.theme.paint("muted"),
        )
        task = tasks.start(begin(report_progress), name=label)

        def build(done: Callable[[None], None]) -> Component:
            tasks.start(_spin(ui, loader), name="spinner")
            task.add_done_callback(lambda _: done(None))
            return make_panel(ui, "", loader, lambda: (("tui.select.cancel", "cancel"),))

        await ui.show(build)
        return None if task.cancelled() else task.result()


async def _spin(ui: Ui, loader: CancellableLoader) -> None:
    clock = ui.clock
    while True:
        if not ui.is_still and loader.tick(clock.monotonic()):
            ui.request_render()
        await clock.sleep(loader.interval)


# Pages and files ----------------------------------------------------------------------------------


_SECONDS = 5.0
_REMOTE = ("SSH_CONNECTION", "SSH_TTY")
_LET_GO = '"$0" "$1" >/dev/null 2>&1 &'
"""Some openers become the browser itself, which must survive pi."""


async def open_in_browser(target: str, host: Machine, *, system: str = sys.platform) -> bool:
    """Open an address or a file; returns False if that is impossible, as over SSH."""
    opener = _opener(host, system)
    if opener is None:
        return False
    if system == "win32":
        command = [opener, "url.dll,FileProtocolHandler", target]
    else:
        command = ["/bin/sh", "-c", _LET_GO, opener, target]
    try:
        ended = await run(
            command,
            cwd=Path(host.home),
            env=_environment(host),
            timeout=_SECONDS,
            max_output=1024,
            detached=True,
        )
    except SpawnFailed:
        return False
    return ended.ok


def _environment(host: Machine) -> dict[str, str]:
    """Return the environment of the browser, without credentials."""
    secrets = KnownSecrets.of(host)
    rules = EnvironmentRules(
        credentials=secrets.names(),
        secrets=frozenset(secrets.values()),
        from_dotenv=host.from_dotenv,
    )
    return program_environment(host.environ, rules)


def _opener(host: Machine, system: str) -> str | None:
    """Return the program that opens files; ``None`` without a display."""
    environ = host.environ
    if any(environ.get(name) for name in _REMOTE):
        return None  # the browser is on the other machine
    if system == "win32":
        return "rundll32"
    if system == "darwin":
        name = "open"
    elif environ.get("WSL_DISTRO_NAME"):
        name = "wslview"
    elif environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"):
        name = "xdg-open"
    else:
        return None
    return find_program(name, environ)

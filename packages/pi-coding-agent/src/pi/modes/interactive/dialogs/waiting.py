"""Dialog for work in progress, cancelled with Escape."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias, TypeVar

from pi.base.tasks import TaskScope
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


async def read_history(ui: Ui) -> bool:
    """Read the rest of a long session, with a spinner; returns False if the user cancelled."""
    info = ui.port.info
    if info.has_unread_history:
        await wait_for(ui, "Reading the session…", info.read_history())
    return not info.has_unread_history


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

"""Something that takes its time, with Escape to give it up."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from pi.base.tasks import TaskScope
from pi.modes.interactive.dialogs.panel import Panel, hints
from pi.modes.interactive.dialogs.questions import left_to_the_caller
from pi.modes.interactive.ui import Ui
from pi.tui.component import Component
from pi.tui.widgets.cancellable_loader import CancellableLoader

T = TypeVar("T")


async def wait_for(
    ui: Ui,
    label: str,
    work: Coroutine[Any, Any, T],
    *,
    on_cancel: Callable[[], None] | None = None,
) -> T | None:
    """What ``work`` gives; ``None`` if the person gave up.

    Giving up cancels the work, or calls ``on_cancel``, after which the work is to end by itself.
    """
    async with TaskScope(report=left_to_the_caller) as tasks:
        doing = tasks.start(work, name=label)
        cancel = on_cancel or doing.cancel

        def build(done: Callable[[None], None]) -> Component:
            loader = CancellableLoader(
                label,
                on_cancel=lambda: _ignored(cancel()),
                keymap=ui.keymap,
                paint_spinner=ui.theme.paint("accent"),
                paint_message=ui.theme.paint("muted"),
            )
            tasks.start(_spin(ui, loader), name="spinner")
            doing.add_done_callback(lambda _: done(None))
            give_up = lambda: hints(ui.keymap, ("tui.select.cancel", "give up"))  # noqa: E731
            return Panel(ui.theme, "", loader, hints=give_up)

        await ui.show(build)
        return None if doing.cancelled() else doing.result()


def _ignored(_: object) -> None:
    """A task says whether it could be cancelled; here nobody wants to know."""


async def _spin(ui: Ui, loader: CancellableLoader) -> None:
    clock = ui.host.clock
    while True:
        if loader.tick(clock.monotonic()):
            ui.request_render()
        await clock.sleep(loader.interval)

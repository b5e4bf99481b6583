"""Something that takes its time, with Escape to give it up."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias, TypeVar

from pi.base.tasks import TaskScope
from pi.modes.interactive.dialogs.panel import framed
from pi.modes.interactive.dialogs.questions import left_to_the_caller
from pi.modes.interactive.ui import Ui
from pi.tui.component import Component
from pi.tui.widgets.cancellable_loader import CancellableLoader

T = TypeVar("T")

Tell: TypeAlias = Callable[[str], None]
"""Shows how far something is."""


async def wait_for(
    ui: Ui,
    label: str,
    work: Coroutine[Any, Any, T],
    *,
    on_cancel: Callable[[], object] | None = None,
) -> T | None:
    """What ``work`` gives; ``None`` if the person gave up.

    Giving up cancels the work, or calls ``on_cancel``, after which the work is to end by itself.
    """
    return await wait_for_steps(ui, label, lambda tell: work, on_cancel=on_cancel)


async def wait_for_steps(
    ui: Ui,
    label: str,
    begin: Callable[[Tell], Coroutine[Any, Any, T]],
    *,
    on_cancel: Callable[[], object] | None = None,
) -> T | None:
    """The same for work that tells, beside the spinner, how far it is."""
    async with TaskScope(report=left_to_the_caller) as tasks:

        def give_up() -> None:
            (on_cancel or doing.cancel)()

        def tell(text: str) -> None:
            loader.set_message(text)
            ui.request_render()

        loader = CancellableLoader(
            label,
            on_cancel=give_up,
            keymap=ui.keymap,
            paint_spinner=ui.theme.paint("accent"),
            paint_message=ui.theme.paint("muted"),
        )
        doing = tasks.start(begin(tell), name=label)

        def build(done: Callable[[None], None]) -> Component:
            tasks.start(_spin(ui, loader), name="spinner")
            doing.add_done_callback(lambda _: done(None))
            return framed(ui, "", loader, lambda: (("tui.select.cancel", "give up"),))

        await ui.show(build)
        return None if doing.cancelled() else doing.result()


async def _spin(ui: Ui, loader: CancellableLoader) -> None:
    clock = ui.clock
    while True:
        if loader.tick(clock.monotonic()):
            ui.request_render()
        await clock.sleep(loader.interval)

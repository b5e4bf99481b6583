"""Asking the model servers of this machine when their models can be chosen."""

from __future__ import annotations

from collections.abc import Callable

from pi.modes.interactive.ui import Ui


def discover(ui: Ui, then: Callable[[], None]) -> None:
    """Ask them while the person looks on; ``then`` is called once they have answered."""

    async def ask() -> None:
        await ui.port.models.discover()
        then()
        ui.request_render()

    ui.tasks.start(ask(), name="local models")

"""Dialogs of extensions: one at a time, the others are queued."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from pi.coding.extension_host.events.answers import record_from_fields
from pi.coding.port.drawing import Drawable, Make, made
from pi.modes.interactive.dialogs.panel import DialogHints
from pi.modes.interactive.dialogs.questions import TimeLimit
from pi.modes.interactive.extensions.drawing import Failed, SafeInteractive
from pi.modes.interactive.ui import OverlayShown, Ui
from pi.tui.component import Component
from pi.tui.input.keymap import Keymap
from pi.tui.overlays import Margin, OverlayOptions

T = TypeVar("T")


class DialogQueue:
    """Shows one dialog at a time. A queued one can be cancelled, and its time limit can expire."""

    def __init__(self, ui: Ui) -> None:
        self._ui = ui
        self._turn = asyncio.Lock()

    async def ask(
        self,
        timeout: float | None,
        ask: Callable[[DialogHints], Awaitable[T | None]],
        on_timeout: T | None = None,
    ) -> T | None:
        """Returns the answer of ``ask``; ``on_timeout`` if the time is over."""
        limit = TimeLimit(self._ui, timeout)

        async def ask_in_turn() -> T | None:
            async with self._turn:
                return await ask(limit.shown)

        return await limit.keep(ask_in_turn(), on_timeout)


async def show_component(
    ui: Ui,
    make: Make,
    given: tuple[object, ...],
    *,
    overlay: OverlayOptions | None,
    on_shown: OverlayShown | None,
) -> Any:
    """Shows a component of an extension and returns its result; raises what it raises.

    ``given`` are the arguments of ``make``, before the function that closes the component. Not
    queued: it may be open for long, and may show a dialog itself.
    """

    def build(done: Callable[[Any], None]) -> Component:
        def failed(problem: Exception) -> None:
            done(_Broken(problem))

        component = made(make, *given, done)
        if hasattr(component, "handle_input"):
            return SafeInteractive(component, failed)
        return _Closable(component, failed, ui.keymap, lambda: done(None))

    if overlay is not None:
        answer = await ui.overlay(build, overlay, on_shown=on_shown)
    else:
        answer = await ui.show(build)
    if isinstance(answer, _Broken):
        raise answer.problem
    return answer


class _Closable(SafeInteractive):
    """A component without key handling: the user closes it like a dialog."""

    def __init__(
        self, component: Drawable, failed: Failed, keymap: Keymap, close: Callable[[], None]
    ) -> None:
        super().__init__(component, failed)
        self._keymap = keymap
        self._close = close

    def handle_input(self, data: str) -> None:
        if self._keymap.matches(data, "tui.select.cancel"):
            self._close()


class _Broken:
    """Result of a component that failed."""

    def __init__(self, problem: Exception) -> None:
        self.problem = problem


def overlay_placement(given_options: Mapping[str, Any]) -> OverlayOptions:
    """Parses the placement of an overlay, by the names of ``OverlayOptions``."""
    options = dict(given_options)
    margin = options.get("margin")
    if isinstance(margin, Mapping):
        options["margin"] = record_from_fields(Margin, margin, "The margin of an overlay")
    return record_from_fields(OverlayOptions, options, "The place of an overlay")

"""Dialogs of extensions: one at a time, the others are queued."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

from pi.coding.extension_host.events.answers import record_from_fields
from pi.coding.port.drawing import Drawable, Make, made
from pi.coding.port.ui import Option
from pi.modes.interactive.dialogs import questions
from pi.modes.interactive.dialogs.panel import DialogHints
from pi.modes.interactive.dialogs.questions import TimeLimit
from pi.modes.interactive.extensions.drawing import Failed, SafeInteractive
from pi.modes.interactive.ui import OverlayShown, Ui
from pi.tui.component import Component
from pi.tui.input.keymap import Keymap
from pi.tui.overlays import Margin, OverlayOptions

T = TypeVar("T")


class ExtensionDialogs:
    """Shows dialogs. A queued dialog can be cancelled, and its time limit can expire.

    ``given`` are the arguments of a component factory, before the function that closes it.
    """

    def __init__(self, ui: Ui, given: tuple[object, ...]) -> None:
        self._ui = ui
        self._given = given
        self._turn = asyncio.Lock()

    async def select(
        self, title: str, options: Sequence[str | Option], timeout: float | None
    ) -> str | None:
        """Returns the label of one of the options."""
        listed = [Option(label=each) if isinstance(each, str) else each for each in options]
        rows = [
            questions.Option(value=each.label, label=each.label, description=each.description)
            for each in listed
        ]
        return await self._within(
            timeout, lambda aside: questions.choose(self._ui, title, rows, aside=aside)
        )

    async def confirm(self, title: str, message: str, timeout: float | None) -> bool:
        """Asks a yes-or-no question."""
        said = await self._within(
            timeout, lambda aside: questions.confirm(self._ui, title, message, aside=aside)
        )
        return said or False

    async def input(
        self, title: str, placeholder: str, timeout: float | None, *, secret: bool
    ) -> str | None:
        """Asks for a line of text."""
        return await self._within(
            timeout,
            lambda aside: questions.ask_text(
                self._ui, title, placeholder=placeholder, masked=secret, aside=aside
            ),
        )

    async def editor(self, title: str, prefill: str, timeout: float | None) -> str | None:
        """Asks for a longer text."""
        return await self._within(
            timeout, lambda aside: questions.edit_text(self._ui, title, prefill, aside=aside)
        )

    async def custom(
        self,
        make: Make,
        overlay_options: Mapping[str, Any] | None,
        on_handle: OverlayShown | None,
        *,
        overlay: bool,
    ) -> Any:
        """Shows a component of the extension and returns its result; raises what it raises."""

        def build(done: Callable[[Any], None]) -> Component:
            def failed(problem: Exception) -> None:
                done(_Broken(problem))

            component = made(make, *self._given, done)
            if hasattr(component, "handle_input"):
                return SafeInteractive(component, failed)
            return _Closable(component, failed, self._ui.keymap, lambda: done(None))

        # Not queued: it may be open for long, and may show a dialog itself.
        if overlay:
            options = overlay_placement(overlay_options or {})
            answer = await self._ui.overlay(build, options, on_shown=on_handle)
        else:
            answer = await self._ui.show(build)
        if isinstance(answer, _Broken):
            raise answer.problem
        return answer

    async def _within(
        self, timeout: float | None, ask: Callable[[DialogHints], Awaitable[T | None]]
    ) -> T | None:
        limit = TimeLimit(self._ui, timeout)

        async def ask_in_turn() -> T | None:
            async with self._turn:
                return await ask(limit.shown)

        return await limit.keep(ask_in_turn())


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

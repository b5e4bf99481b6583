"""The dialogs of extensions: one at a time, the others wait their turn."""

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
    """Asks the person. Who waits for a turn may be cancelled, and its time may pass meanwhile.

    ``given`` is what a component of an extension is made of, before the way to end it.
    """

    def __init__(self, ui: Ui, given: tuple[object, ...]) -> None:
        self._ui = ui
        self._given = given
        self._turn = asyncio.Lock()

    async def select(
        self, title: str, options: Sequence[str | Option], timeout: float | None
    ) -> str | None:
        """The label of one of the options."""
        listed = [Option(label=each) if isinstance(each, str) else each for each in options]
        rows = [
            questions.Option(value=each.label, label=each.label, description=each.description)
            for each in listed
        ]
        return await self._within(
            timeout, lambda aside: questions.choose(self._ui, title, rows, aside=aside)
        )

    async def confirm(self, title: str, message: str, timeout: float | None) -> bool:
        """Yes or no."""
        said = await self._within(
            timeout, lambda aside: questions.confirm(self._ui, title, message, aside=aside)
        )
        return said or False

    async def input(
        self, title: str, placeholder: str, timeout: float | None, *, secret: bool
    ) -> str | None:
        """A line of text."""
        return await self._within(
            timeout,
            lambda aside: questions.ask_text(
                self._ui, title, placeholder=placeholder, masked=secret, aside=aside
            ),
        )

    async def editor(self, title: str, prefill: str, timeout: float | None) -> str | None:
        """A longer text."""
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
        """What a component of the extension comes to; what it raises is raised here."""

        def build(done: Callable[[Any], None]) -> Component:
            def failed(problem: Exception) -> None:
                done(_Broken(problem))

            component = made(make, *self._given, done)
            if hasattr(component, "handle_input"):
                return SafeInteractive(component, failed)
            return _Closable(component, failed, self._ui.keymap, lambda: done(None))

        # It takes no turn: it may be open for long, and may itself ask a question meanwhile.
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
    """A component that takes no keys: who has seen enough closes it as they close a dialog."""

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
    """In place of an answer: the component cannot go on."""

    def __init__(self, problem: Exception) -> None:
        self.problem = problem


def overlay_placement(wanted: Mapping[str, Any]) -> OverlayOptions:
    """Where an overlay stands, by the names of ``OverlayOptions``."""
    options = dict(wanted)
    margin = options.get("margin")
    if isinstance(margin, Mapping):
        options["margin"] = record_from_fields(Margin, margin, "The margin of an overlay")
    return record_from_fields(OverlayOptions, options, "The place of an overlay")

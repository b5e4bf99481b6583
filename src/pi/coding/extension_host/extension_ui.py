"""The user interface as one extension sees it: tidied up when the extension ends."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal, TypeAlias, TypeVar

from pi.coding.extension_host.hooks import Hooks
from pi.coding.extension_host.registration import Registration
from pi.coding.extension_host.scope import Scope
from pi.coding.extension_host.session_events import UiPromptEndEvent, UiPromptStartEvent
from pi.coding.extension_host.ui import Drawable, ExtensionUI, Lines, Make, Placement, Rows
from pi.coding.extension_host.watchdog import Watchdog

T = TypeVar("T")

Kind: TypeAlias = Literal["select", "confirm", "input", "editor", "custom"]


class OwnedUI:
    """Hands over to whatever interface there is now; implements ``ExtensionUI``.

    Dialogs stop the clock of the handler that asks, and are told to everybody. What stays on the
    screen is taken away with the scope.
    """

    def __init__(
        self, current: Callable[[], ExtensionUI], scope: Scope, hooks: Hooks, watchdog: Watchdog
    ) -> None:
        self._current = current
        self._scope = scope
        self._hooks = hooks
        self._watchdog = watchdog
        self._shown: dict[tuple[str, str], Registration] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._current(), name)

    # Dialogs --------------------------------------------------------------------------------------

    async def select(
        self, title: str, options: Sequence[str], *, timeout: float | None = None
    ) -> str | None:
        """One of ``options``."""
        return await self._ask(
            "select", title, lambda ui: ui.select(title, options, timeout=timeout)
        )

    async def confirm(self, title: str, message: str, *, timeout: float | None = None) -> bool:
        """Yes or no."""
        return await self._ask(
            "confirm", title, lambda ui: ui.confirm(title, message, timeout=timeout)
        )

    async def input(
        self, title: str, placeholder: str = "", *, timeout: float | None = None
    ) -> str | None:
        """A line of text."""
        return await self._ask(
            "input", title, lambda ui: ui.input(title, placeholder, timeout=timeout)
        )

    async def editor(self, title: str, prefill: str = "") -> str | None:
        """A longer text."""
        return await self._ask("editor", title, lambda ui: ui.editor(title, prefill))

    async def custom(self, make: Make, *, overlay: bool = False, **options: Any) -> Any:
        """Whatever a component of the extension's own comes to."""
        return await self._ask("custom", "", lambda ui: ui.custom(make, overlay=overlay, **options))

    async def _ask(self, kind: Kind, title: str, ask: Callable[[ExtensionUI], Awaitable[T]]) -> T:
        await self._hooks.tell(UiPromptStartEvent(kind=kind, title=title))
        try:
            with self._watchdog.dialog():
                return await ask(self._current())
        finally:
            await self._hooks.tell(UiPromptEndEvent(kind=kind, title=title))

    # What stays on the screen ---------------------------------------------------------------------

    def set_status(self, key: str, text: str | None) -> None:
        """Show a text in the status line."""
        self._current().set_status(key, text)
        self._owe("status", key, text, lambda: self._current().set_status(key, None))

    def set_widget(
        self, key: str, lines: Lines | None, *, placement: Placement | None = None
    ) -> None:
        """Show lines beside the editor."""
        self._current().set_widget(key, lines, placement=placement)
        self._owe("widget", key, lines, lambda: self._current().set_widget(key, None))

    def set_rows(
        self, key: str, rows: Drawable, *, where: Literal["footer"] = "footer", order: int = 0
    ) -> Rows:
        """Show rows that are redrawn by themselves."""
        shown = self._current().set_rows(key, rows, where=where, order=order)
        self._owe("rows", key, rows, shown.remove)
        return shown

    def set_footer(self, make: Make | None) -> None:
        """Another footer."""
        self._current().set_footer(make)
        self._owe("footer", "", make, lambda: self._current().set_footer(None))

    def set_header(self, make: Make | None) -> None:
        """Another header."""
        self._current().set_header(make)
        self._owe("header", "", make, lambda: self._current().set_header(None))

    def set_editor_component(self, make: Make | None) -> None:
        """Another editor."""
        self._current().set_editor_component(make)
        self._owe("editor", "", make, lambda: self._current().set_editor_component(None))

    def add_autocomplete_provider(self, provider: Any) -> Callable[[], None]:
        """Complete more; gives what ends that."""
        end = self._current().add_autocomplete_provider(provider)
        return self._scope.keep(Registration(end)).remove

    def on_terminal_input(self, listener: Callable[[str], Any]) -> Callable[[], None]:
        """See every key before anybody else; gives what ends that."""
        end = self._current().on_terminal_input(listener)
        return self._scope.keep(Registration(end)).remove

    def _owe(self, kind: str, key: str, shown: object, take_away: Callable[[], None]) -> None:
        """Remember to take away what is shown; forget it when it is gone already."""
        if (known := self._shown.get((kind, key))) is None:
            if shown is not None:
                owed = Registration(take_away)
                self._shown[kind, key] = self._scope.keep(owed)
        elif shown is None:
            self._shown.pop((kind, key))
            known.forget()

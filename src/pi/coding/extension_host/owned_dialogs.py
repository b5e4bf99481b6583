"""Questions of one extension to the person, on whatever screen there is now."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from pi.coding.extension_host.drawing import Make
from pi.coding.extension_host.failures import StaleSession
from pi.coding.extension_host.hooks import Hooks
from pi.coding.extension_host.open_dialogs import OpenDialogs
from pi.coding.extension_host.scope import Scope
from pi.coding.extension_host.session_events import (
    DialogKind,
    UiPromptEndEvent,
    UiPromptStartEvent,
)
from pi.coding.extension_host.ui import ExtensionUI, Option
from pi.coding.extension_host.watchdog import Watchdog

T = TypeVar("T")


class OwnedDialogs:
    """Dialogs stop the clock of the handler that asks, and are told to everybody."""

    def __init__(
        self,
        current: Callable[[], ExtensionUI],
        *,
        scope: Scope,
        hooks: Hooks,
        watchdog: Watchdog,
    ) -> None:
        self._current = current
        self._scope = scope
        self._hooks = hooks
        self._watchdog = watchdog
        self._dialogs = OpenDialogs()

    async def select(
        self, title: str, options: Sequence[str | Option], *, timeout: float | None = None
    ) -> str | None:
        """One of ``options``."""
        return await self._ask(
            "select", title, lambda ui: ui.select(title, options, timeout=timeout), None
        )

    async def confirm(self, title: str, message: str, *, timeout: float | None = None) -> bool:
        """Yes or no."""
        return await self._ask(
            "confirm", title, lambda ui: ui.confirm(title, message, timeout=timeout), left=False
        )

    async def input(
        self,
        title: str,
        placeholder: str = "",
        *,
        secret: bool = False,
        timeout: float | None = None,
    ) -> str | None:
        """A line of text."""
        return await self._ask(
            "input",
            title,
            lambda ui: ui.input(title, placeholder, secret=secret, timeout=timeout),
            None,
        )

    async def editor(
        self, title: str, prefill: str = "", *, timeout: float | None = None
    ) -> str | None:
        """A longer text."""
        return await self._ask(
            "editor", title, lambda ui: ui.editor(title, prefill, timeout=timeout), None
        )

    async def custom(self, make: Make, **options: Any) -> Any:
        """Whatever a component of the extension's own comes to."""
        return await self._ask("custom", "", lambda ui: ui.custom(make, **options), None)

    async def _ask(
        self,
        kind: DialogKind,
        title: str,
        ask: Callable[[ExtensionUI], Coroutine[Any, Any, T]],
        left: T,
    ) -> T:
        screen = self._screen
        await self._hooks.tell(UiPromptStartEvent(kind=kind, title=title))
        try:
            with self._watchdog.dialog():
                return await self._dialogs.answer(ask(screen), left)
        finally:
            await self._hooks.tell(UiPromptEndEvent(kind=kind, title=title))

    @property
    def _screen(self) -> ExtensionUI:
        """The interface, for an extension whose session goes on."""
        self._must_go_on()
        return self._current()

    def _must_go_on(self) -> None:
        if self._scope.closed:
            raise StaleSession

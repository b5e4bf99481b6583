"""``ctx.ui`` of one extension, cleaned up with its scope."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable, Mapping, Sequence
from typing import Any, Literal, TypeVar

from pi.coding.bus import PASSED_ON, EventBus, Owner
from pi.coding.extension_host.contributions.views import Facts
from pi.coding.extension_host.events.handlers import DECISIONS, ReportHandlerFailure
from pi.coding.extension_host.events.session import DialogKind, UiPromptEndEvent, UiPromptStartEvent
from pi.coding.extension_host.scope import HostConnection, Registration, SessionLink
from pi.coding.extension_host.watchdog import Watchdog
from pi.coding.port.drawing import Drawable, GuardedDrawable, Lines, Make, Rows, made
from pi.coding.port.ui import ExtensionUI, Option, Placement

T = TypeVar("T")


class OpenDialogs:
    """Open dialogs of one extension; they are cancelled when the session ends."""

    def __init__(self) -> None:
        self._open: set[asyncio.Task[Any]] = set()

    async def answer(self, question: Coroutine[Any, Any, T], default: T) -> T:
        """The answer of the user, or ``default`` if the session ends before."""
        asked = asyncio.ensure_future(question)
        self._open.add(asked)
        try:
            return await asked
        except asyncio.CancelledError:
            if asked in self._open:  # the caller was cancelled, and the dialog with it
                raise
            return default
        finally:
            self._open.discard(asked)

    def cancel_all(self) -> None:
        """Cancel all of them."""
        asked, self._open = self._open, set()
        for each in asked:
            each.cancel()


class ExtensionUIProxy:
    """``ctx.ui`` of one extension: forwards to the current user interface.

    Implements ``ExtensionUI``. A dialog stops the time limit of the handler that opened it. When
    the scope is closed, open dialogs are cancelled and what the extension shows is removed.
    """

    def __init__(
        self,
        link: SessionLink,
        connection: HostConnection,
        *,
        owner: Owner,
        bus: EventBus,
        watchdog: Watchdog,
        facts: Facts,
        failed: ReportHandlerFailure,
    ) -> None:
        self._link = link
        self._connection = connection
        self._bus = bus
        self._watchdog = watchdog
        self._dialogs = OpenDialogs()
        self._owner = owner
        self._facts = facts
        self._failed = failed
        self._shown: dict[tuple[str, Hashable], Callable[[], None]] = {}
        """Functions that remove what is shown, by kind and key."""
        link.scope.keep(Registration(self._end))

    def __getattr__(self, name: str) -> Any:
        if not hasattr(ExtensionUI, name):
            raise AttributeError(f"ctx.ui has no attribute {name!r}.")
        return getattr(self._screen, name)

    # Dialogs --------------------------------------------------------------------------------------

    async def select(
        self, title: str, options: Sequence[str | Option], *, timeout: float | None = None
    ) -> str | None:
        """Let the user select one of ``options``."""
        return await self._ask(
            "select", title, lambda ui: ui.select(title, options, timeout=timeout), None
        )

    async def confirm(self, title: str, message: str, *, timeout: float | None = None) -> bool:
        """Ask the user for yes or no."""
        return await self._ask(
            "confirm", title, lambda ui: ui.confirm(title, message, timeout=timeout), default=False
        )

    async def input(
        self,
        title: str,
        placeholder: str = "",
        *,
        secret: bool = False,
        timeout: float | None = None,
    ) -> str | None:
        """Ask the user for a line of text."""
        return await self._ask(
            "input",
            title,
            lambda ui: ui.input(title, placeholder, secret=secret, timeout=timeout),
            None,
        )

    async def editor(
        self, title: str, prefill: str = "", *, timeout: float | None = None
    ) -> str | None:
        """Let the user edit a longer text."""
        return await self._ask(
            "editor", title, lambda ui: ui.editor(title, prefill, timeout=timeout), None
        )

    async def custom(self, make: Make, **options: Any) -> Any:
        """Show a component of the extension. Returns its result."""
        return await self._ask("custom", "", lambda ui: ui.custom(make, **options), None)

    # Status and title -----------------------------------------------------------------------------

    def set_status(self, key: str, text: str | None) -> None:
        """Set or remove a text in the status line."""
        self._screen.set_status(key, text)
        self._track("status", key, text, lambda: self._connection.ui.set_status(key, None))

    def set_fact(self, name: str, text: str | None) -> None:
        """Publish a fact about the session for others to show; ``None`` removes it."""
        self._link.require_open()
        self._remove("fact", name)
        if text is not None:
            self._shown["fact", name] = self._facts.add(name, text, self._owner)

    @property
    def facts(self) -> Mapping[str, str]:
        """The facts of all extensions."""
        return self._facts.texts

    def set_title(self, title: str) -> None:
        """Set the title of the terminal window."""
        self._screen.set_title(title)
        self._track("title", "", title or None, lambda: self._connection.ui.set_title(""))

    # Widgets and rows -----------------------------------------------------------------------------

    def set_widget(
        self, key: str, lines: Lines | None, *, placement: Placement | None = None
    ) -> None:
        """Show lines above or below the editor."""
        shown = self._guarded_factory(f"widget {key}", lines) if callable(lines) else lines
        self._screen.set_widget(key, shown, placement=placement)
        self._track("widget", key, lines, lambda: self._connection.ui.set_widget(key, None))

    def set_rows(
        self, key: str, rows: Drawable, *, where: Literal["footer"] = "footer", order: int = 0
    ) -> Rows:
        """Show rows below the footer."""
        drawn = self._guarded(f"rows {key}", rows)
        shown = self._screen.set_rows(key, drawn, where=where, order=order)
        self._track("rows", key, rows, self._facts.show_in((self._owner.path, key), shown))
        return shown

    add_footer_line = ExtensionUI.add_footer_line

    def set_footer(self, make: Make | None) -> None:
        """Replace the footer; ``None`` restores it."""
        self._screen.set_footer(make and self._guarded_factory("footer", make))
        self._track("footer", "", make, lambda: self._connection.ui.set_footer(None))

    def set_header(self, make: Make | None) -> None:
        """Replace the header; ``None`` restores it."""
        self._screen.set_header(make and self._guarded_factory("header", make))
        self._track("header", "", make, lambda: self._connection.ui.set_header(None))

    # While the agent works ------------------------------------------------------------------------

    def set_working_message(self, message: str | None = None) -> None:
        """Set the message shown during a run."""
        self._screen.set_working_message(message)
        self._track(
            "working", "message", message, lambda: self._connection.ui.set_working_message()
        )

    def set_working_visible(self, *, visible: bool) -> None:
        """Show or hide the working indicator."""
        self._screen.set_working_visible(visible=visible)
        hidden = None if visible else True
        self._track(
            "working",
            "hidden",
            hidden,
            lambda: self._connection.ui.set_working_visible(visible=True),
        )

    def set_working_indicator(
        self, frames: Sequence[str] | None = None, interval: float | None = None
    ) -> None:
        """Set the animation shown during a run."""
        self._screen.set_working_indicator(frames, interval)
        self._track(
            "working", "frames", frames, lambda: self._connection.ui.set_working_indicator()
        )

    def set_hidden_thinking_label(self, label: str | None = None) -> None:
        """Set the label of hidden thinking blocks."""
        self._screen.set_hidden_thinking_label(label)
        self._track("thinking", "", label, lambda: self._connection.ui.set_hidden_thinking_label())

    # The editor -----------------------------------------------------------------------------------

    def set_editor_component(self, make: Make | None) -> None:
        """Replace the editor; ``None`` restores it."""
        self._screen.set_editor_component(make)
        self._track("editor", "", make, lambda: self._connection.ui.set_editor_component(None))

    def add_autocomplete_provider(self, provider: Any) -> Callable[[], None]:
        """Add completions. Returns a function that removes them."""
        return self._tracked(self._screen.add_autocomplete_provider(provider))

    def on_terminal_input(self, listener: Callable[[str], Any]) -> Callable[[], None]:
        """Call ``listener`` with all terminal input first, until it fails.

        Returns an unsubscribe function.
        """

        def listen(data: str) -> Any:
            try:
                return listener(data)
            except PASSED_ON:
                raise
            except BaseException as error:
                end()
                self._failed(self._owner, "terminal input", error)
                return None

        end = self._tracked(self._screen.on_terminal_input(listen))
        return end

    # Internals ------------------------------------------------------------------------------------

    @property
    def _screen(self) -> ExtensionUI:
        """The current user interface. Raises ``StaleSession`` once the session has ended."""
        self._link.require_open()
        return self._connection.ui

    async def _ask(
        self,
        kind: DialogKind,
        title: str,
        ask: Callable[[ExtensionUI], Coroutine[Any, Any, T]],
        default: T,
    ) -> T:
        screen = self._screen
        await self._bus.emit(UiPromptStartEvent(kind=kind, title=title), raises=DECISIONS)
        try:
            with self._watchdog.dialog():
                return await self._dialogs.answer(ask(screen), default)
        finally:
            await self._bus.emit(UiPromptEndEvent(kind=kind, title=title), raises=DECISIONS)

    def _guarded_factory(self, what: str, make: Make) -> Make:
        return lambda *given: self._guarded(what, made(make, *given))

    def _guarded(self, what: str, drawable: Drawable) -> GuardedDrawable:
        return GuardedDrawable(drawable, lambda error: self._failed(self._owner, what, error))

    def _tracked(self, end: Callable[[], None]) -> Callable[[], None]:
        self._shown["until", end] = end
        return lambda: self._remove("until", end)

    def _track(self, kind: str, key: str, shown: object, remove: Callable[[], None]) -> None:
        """Remember how to remove what is shown; forget it if it is removed."""
        if shown is None:
            self._shown.pop((kind, key), None)
        else:
            self._shown[kind, key] = remove

    def _remove(self, kind: str, key: Hashable) -> None:
        if (remove := self._shown.pop((kind, key), None)) is not None:
            remove()

    def _end(self) -> None:
        self._dialogs.cancel_all()
        for shown in reversed([*self._shown]):
            self._remove(*shown)

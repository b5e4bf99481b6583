"""The user interface as one extension sees it: tidied up when the extension ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable, Mapping, Sequence
from typing import Any, Literal, TypeVar

from pi.coding.bus import PASSED_ON, Owner
from pi.coding.extension_host.contributions.views import Facts
from pi.coding.extension_host.errors import StaleSession
from pi.coding.extension_host.events.handlers import Hooks, ReportHandlerFailure
from pi.coding.extension_host.events.session import DialogKind, UiPromptEndEvent, UiPromptStartEvent
from pi.coding.extension_host.scope import Registration, Scope
from pi.coding.extension_host.watchdog import Watchdog
from pi.coding.port.drawing import Drawable, GuardedDrawable, Lines, Make, Rows, made
from pi.coding.port.ui import ExtensionUI, Option, Placement

# Questions of one extension that wait for an answer.


T = TypeVar("T")


class OpenDialogs:
    """Those that are open now; the end of the session leaves all of them."""

    def __init__(self) -> None:
        self._asked: set[asyncio.Task[Any]] = set()

    async def answer(self, question: Coroutine[Any, Any, T], left: T) -> T:
        """What the person answers, or ``left`` if the session ends before that."""
        asked = asyncio.ensure_future(question)
        self._asked.add(asked)
        try:
            return await asked
        except asyncio.CancelledError:
            if asked in self._asked:  # whoever asks was cancelled, and the question with it
                raise
            return left
        finally:
            self._asked.discard(asked)

    def leave(self) -> None:
        """Take all of them away."""
        asked, self._asked = self._asked, set()
        for each in asked:
            each.cancel()


# Questions of one extension to the person, on whatever screen there is now.


class ExtensionDialogProxy:
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


class ExtensionUIProxy(ExtensionDialogProxy):
    """Hands over to whatever interface there is now; implements ``ExtensionUI``.

    When the scope ends, dialogs are left and what stays on the screen is taken away; it harms
    nobody before.
    """

    def __init__(
        self,
        current: Callable[[], ExtensionUI],
        *,
        owner: Owner,
        scope: Scope,
        hooks: Hooks,
        watchdog: Watchdog,
        facts: Facts,
        failed: ReportHandlerFailure,
    ) -> None:
        super().__init__(current, scope=scope, hooks=hooks, watchdog=watchdog)
        self._owner = owner
        self._facts = facts
        self._failed = failed
        self._shown: dict[tuple[str, Hashable], Callable[[], None]] = {}
        """What takes away each thing that is shown."""
        scope.keep(Registration(self._end))

    def __getattr__(self, name: str) -> Any:
        if not hasattr(ExtensionUI, name):
            raise AttributeError(f"ctx.ui has nothing that is called {name}.")
        return getattr(self._screen, name)

    # What is told ---------------------------------------------------------------------------------

    def set_status(self, key: str, text: str | None) -> None:
        """Show a text in the status line."""
        self._screen.set_status(key, text)
        self._owe("status", key, text, lambda: self._current().set_status(key, None))

    def set_fact(self, name: str, text: str | None) -> None:
        """Say something of the session that others show."""
        self._must_go_on()
        self._take_away("fact", name)
        if text is not None:
            self._shown["fact", name] = self._facts.add(name, text, self._owner)

    @property
    def facts(self) -> Mapping[str, str]:
        """What all extensions have said of the session."""
        return self._facts.texts

    def set_title(self, title: str) -> None:
        """Call the window something else."""
        self._screen.set_title(title)
        self._owe("title", "", title or None, lambda: self._current().set_title(""))

    # Rows of its own ------------------------------------------------------------------------------

    def set_widget(
        self, key: str, lines: Lines | None, *, placement: Placement | None = None
    ) -> None:
        """Show lines beside the editor."""
        shown = self._making(f"widget {key}", lines) if callable(lines) else lines
        self._screen.set_widget(key, shown, placement=placement)
        self._owe("widget", key, lines, lambda: self._current().set_widget(key, None))

    def set_rows(
        self, key: str, rows: Drawable, *, where: Literal["footer"] = "footer", order: int = 0
    ) -> Rows:
        """Show rows below the footer."""
        drawn = self._drawn(f"rows {key}", rows)
        shown = self._screen.set_rows(key, drawn, where=where, order=order)
        self._owe("rows", key, rows, self._facts.show_in((self._owner.path, key), shown))
        return shown

    add_footer_line = ExtensionUI.add_footer_line

    def set_footer(self, make: Make | None) -> None:
        """Another footer."""
        self._screen.set_footer(make and self._making("footer", make))
        self._owe("footer", "", make, lambda: self._current().set_footer(None))

    def set_header(self, make: Make | None) -> None:
        """Another header."""
        self._screen.set_header(make and self._making("header", make))
        self._owe("header", "", make, lambda: self._current().set_header(None))

    # While the agent works ------------------------------------------------------------------------

    def set_working_message(self, message: str | None = None) -> None:
        """What is shown while the agent works."""
        self._screen.set_working_message(message)
        self._owe("working", "message", message, lambda: self._current().set_working_message())

    def set_working_visible(self, *, visible: bool) -> None:
        """Whether that is shown at all."""
        self._screen.set_working_visible(visible=visible)
        hidden = None if visible else True
        self._owe(
            "working", "hidden", hidden, lambda: self._current().set_working_visible(visible=True)
        )

    def set_working_indicator(
        self, frames: Sequence[str] | None = None, interval: float | None = None
    ) -> None:
        """What moves while the agent works."""
        self._screen.set_working_indicator(frames, interval)
        self._owe("working", "frames", frames, lambda: self._current().set_working_indicator())

    def set_hidden_thinking_label(self, label: str | None = None) -> None:
        """What stands for thoughts that are hidden."""
        self._screen.set_hidden_thinking_label(label)
        self._owe("thinking", "", label, lambda: self._current().set_hidden_thinking_label())

    # The editor -----------------------------------------------------------------------------------

    def set_editor_component(self, make: Make | None) -> None:
        """Another editor."""
        self._screen.set_editor_component(make)
        self._owe("editor", "", make, lambda: self._current().set_editor_component(None))

    def add_autocomplete_provider(self, provider: Any) -> Callable[[], None]:
        """Complete more; gives what ends that."""
        return self._until_ended(self._screen.add_autocomplete_provider(provider))

    def on_terminal_input(self, listener: Callable[[str], Any]) -> Callable[[], None]:
        """See every key before anybody else, until it fails; gives what ends that."""

        def listen(data: str) -> Any:
            try:
                return listener(data)
            except PASSED_ON:
                raise
            except BaseException as problem:
                end()
                self._failed(self._owner, "terminal input", problem)
                return None

        end = self._until_ended(self._screen.on_terminal_input(listen))
        return end

    # ----------------------------------------------------------------------------------------------

    def _making(self, what: str, make: Make) -> Make:
        return lambda *given: self._drawn(what, made(make, *given))

    def _drawn(self, what: str, drawable: Drawable) -> GuardedDrawable:
        return GuardedDrawable(drawable, lambda problem: self._failed(self._owner, what, problem))

    def _until_ended(self, end: Callable[[], None]) -> Callable[[], None]:
        self._shown["until", end] = end
        return lambda: self._take_away("until", end)

    def _owe(self, kind: str, key: str, shown: object, take_away: Callable[[], None]) -> None:
        """Remember to take away what is shown; forget it when it is gone already."""
        if shown is None:
            self._shown.pop((kind, key), None)
        else:
            self._shown[kind, key] = take_away

    def _take_away(self, kind: str, key: Hashable) -> None:
        if (take_away := self._shown.pop((kind, key), None)) is not None:
            take_away()

    def _end(self) -> None:
        self._dialogs.leave()
        for shown in reversed([*self._shown]):
            self._take_away(*shown)

"""``ctx.ui`` of one extension, cleaned up with its scope."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Hashable, Mapping, Sequence
from copy import copy
from typing import Any, Literal, get_args

from pi.ai.models.model import Model
from pi.base.records import replace
from pi.base.tasks import propagated_exceptions
from pi.coding.bus import EventBus, Owner
from pi.coding.extension_host.contributions.views import Facts
from pi.coding.extension_host.errors import ExtensionError, check_value
from pi.coding.extension_host.events.dialogs import UiPromptEndEvent, UiPromptStartEvent
from pi.coding.extension_host.events.handlers import DECISIONS, ReportHandlerFailure
from pi.coding.extension_host.open_dialogs import (
    DialogRegistry,
    OpenDialogs,
    as_options,
)
from pi.coding.extension_host.scope import HostConnection, SessionLink
from pi.coding.extension_host.watchdog import Watchdog
from pi.coding.port.drawing import (
    Drawable,
    FooterPart,
    GuardedDrawable,
    Lines,
    Make,
    Rows,
    make_drawable,
)
from pi.coding.port.ui import (
    PLACEMENTS,
    EditorStyle,
    ExtensionUI,
    NotifyKind,
    Option,
    Placement,
)


class ExtensionUIProxy:
    """``ctx.ui`` of one extension: forwards to the current user interface.

    Implements ``ExtensionUI``. A dialog pauses the time limit of the handler that opened it. When
    the scope is closed, open dialogs are cancelled and widgets, texts and rows are removed.
    """

    def __init__(
        self,
        link: SessionLink,
        connection: HostConnection,
        *,
        owner: Owner,
        bus: EventBus,
        watchdog: Watchdog,
        dialogs: DialogRegistry,
        facts: Facts,
        failed: ReportHandlerFailure,
    ) -> None:
        self._link = link
        self._connection = connection
        self._bus = bus
        self._watchdog = watchdog
        self._all_dialogs = dialogs
        self._dialogs = OpenDialogs()
        self._owner = owner
        self._facts = facts
        self._failed = failed
        self._shown: dict[tuple[str, Hashable], Callable[[], None]] = {}
        """Functions that remove the shown parts, by kind and key."""
        self._with_guests = False
        link.scope.register(self._end)

    def __getattr__(self, name: str) -> Any:
        if not hasattr(ExtensionUI, name):
            raise AttributeError(f"ctx.ui has no attribute {name!r}.")
        return getattr(self._screen, name)

    # Dialogs --------------------------------------------------------------------------------------

    @property
    def with_guests(self) -> ExtensionUIProxy:
        """A proxy whose dialogs guests of a shared session may answer, too."""
        shared = copy(self)  # closed with this one: both use the same dialogs and shown parts
        shared._with_guests = True
        return shared

    async def select(
        self,
        title: str,
        options: Sequence[str | Option],
        *,
        multi: bool = False,
        initial: str | Sequence[str] | None = None,
        timeout: float | None = None,
        on_timeout: Any = None,
        call_id: str | None = None,
        cancel: str = "",
    ) -> Any:
        """Let the user select one of ``options``, or several."""
        listed = as_options(options)
        chosen = () if initial is None else (initial,) if isinstance(initial, str) else initial
        for label in chosen:
            check_value("an option", label, [option.label for option in listed])
        if len(chosen) > 1 and not multi:
            raise ExtensionError(
                "A dialog for one option has one initial option.", hint="Pass multi=True."
            )
        prompt = UiPromptStartEvent(
            kind="select", title=title, options=listed, multi=multi, initial=tuple(chosen)
        )
        more = _non_default(
            multi=multi,
            initial=initial,
            timeout=timeout,
            on_timeout=on_timeout,
            call_id=call_id,
            cancel=cancel or None,
        )
        return await self._ask(prompt, lambda ui: ui.select(title, options, **more), None)

    async def select_model(self, title: str) -> Model | None:
        """Let the user choose a model; outside the terminal UI by name. ``None`` if cancelled."""
        models = self._link.registry.get_available()
        names = {f"{model.provider}/{model.id}": model for model in models}
        if self._connection.mode == "tui":
            prompt = UiPromptStartEvent(kind="custom", title=title)
            model: Model | None = await self._ask(prompt, lambda ui: ui.select_model(title), None)
            return model
        chosen = await self.select(title, [*names])
        return names.get(chosen or "")

    async def confirm(
        self,
        title: str,
        message: str,
        *,
        default: bool = True,
        timeout: float | None = None,
        on_timeout: Any = False,
    ) -> Any:
        """Ask the user for yes or no."""
        prompt = UiPromptStartEvent(kind="confirm", title=title, message=message)
        is_no = {} if default else {"default": False}
        more = _non_default(timeout=timeout, on_timeout=on_timeout) | is_no
        return await self._ask(prompt, lambda ui: ui.confirm(title, message, **more), default=False)

    async def input(
        self,
        title: str,
        placeholder: str = "",
        *,
        secret: bool = False,
        timeout: float | None = None,
        on_timeout: Any = None,
    ) -> Any:
        """Ask the user for a line of text."""
        prompt = UiPromptStartEvent(
            kind="input", title=title, placeholder=placeholder, secret=secret
        )
        more = _non_default(secret=secret, timeout=timeout, on_timeout=on_timeout)
        return await self._ask(prompt, lambda ui: ui.input(title, placeholder, **more), None)

    async def editor(
        self,
        title: str,
        prefill: str = "",
        *,
        style: EditorStyle = "prompt",
        timeout: float | None = None,
        on_timeout: Any = None,
    ) -> Any:
        """Let the user edit a longer text."""
        check_value("a style of the editor", style, get_args(EditorStyle))
        prompt = UiPromptStartEvent(kind="editor", title=title, prefill=prefill)
        is_hook = {"style": style} if style != "prompt" else {}
        more = _non_default(timeout=timeout, on_timeout=on_timeout) | is_hook
        return await self._ask(prompt, lambda ui: ui.editor(title, prefill, **more), None)

    async def custom(self, make: Make, **options: Any) -> Any:
        """Show a component of the extension. Returns its result."""
        prompt = UiPromptStartEvent(kind="custom")
        return await self._ask(prompt, lambda ui: ui.custom(make, **options), None)

    def answer(self, id: str, value: Any) -> bool:
        """Answer an open dialog of any extension."""
        self._link.require_open()
        return self._all_dialogs.answer(id, value)

    # Notices --------------------------------------------------------------------------------------

    def notify(self, message: str, kind: NotifyKind | None = None) -> None:
        """Show a line for a while."""
        if kind is not None:
            check_value("a kind of notice", kind, get_args(NotifyKind))
        self._screen.notify(message, kind)

    # Status and title -----------------------------------------------------------------------------

    def set_status(self, key: str, text: str | None) -> None:
        """Set or remove a text in the status line."""
        self._screen.set_status(key, text)
        self._track("status", key, text, lambda: self._connection.ui.set_status(key, None))

    def set_fact(self, name: str, text: str | None) -> None:
        """Publish a fact about the session for other extensions to show; ``None`` removes it."""
        self._link.require_open()
        self._remove("fact", name)
        if text is not None:
            self._shown["fact", name] = self._facts.add(name, text, self._owner)
        self._screen.set_fact(name, text)

    @property
    def facts(self) -> Mapping[str, str]:
        """The facts of all extensions."""
        return self._facts.texts

    async def copy(self, text: str) -> bool:
        """Copy a text to the user's clipboard."""
        return await self._screen.copy(text)

    def set_title(self, title: str) -> None:
        """Set the title of the terminal window."""
        self._screen.set_title(title)
        self._track("title", "", title or None, lambda: self._connection.ui.set_title(""))

    # Widgets and rows -----------------------------------------------------------------------------

    def set_widget(
        self, key: str, lines: Lines | None, *, placement: Placement | None = None
    ) -> None:
        """Show lines above or below the editor."""
        if placement is not None:
            check_value("a placement", placement, [*PLACEMENTS])
        guarded_lines = self._guarded_factory(f"widget {key}", lines) if callable(lines) else lines
        self._screen.set_widget(key, guarded_lines, placement=placement)
        self._track("widget", key, lines, lambda: self._connection.ui.set_widget(key, None))

    def set_rows(
        self,
        key: str,
        rows: Drawable,
        *,
        where: Literal["footer"] = "footer",
        order: int = 0,
        replaces: Sequence[FooterPart] = (),
    ) -> Rows:
        """Show rows below the footer."""
        check_value("a place for rows", where, ("footer",))
        for part in replaces:
            check_value("a part of the footer", part, get_args(FooterPart))
        drawn = self._guard(f"rows {key}", rows)
        footer_rows = self._screen.set_rows(key, drawn, where=where, order=order, replaces=replaces)
        self._track("rows", key, rows, self._facts.show_in((self._owner.path, key), footer_rows))
        return footer_rows

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
        return self._track_until(self._screen.add_autocomplete_provider(provider))

    def on_terminal_input(self, listener: Callable[[str], Any]) -> Callable[[], None]:
        """Call ``listener`` first with all terminal input; one that fails is removed.

        Returns an unsubscribe function.
        """

        def listen(data: str) -> Any:
            try:
                return listener(data)
            except propagated_exceptions():
                raise
            except BaseException as error:
                end()
                self._failed(self._owner, "terminal input", error)
                return None

        end = self._track_until(self._screen.on_terminal_input(listen))
        return end

    # Internals ------------------------------------------------------------------------------------

    @property
    def _screen(self) -> ExtensionUI:
        """The current user interface. Raises ``StaleSession`` once the session has ended."""
        self._link.require_open()
        return self._connection.ui

    async def _ask(
        self,
        prompt: UiPromptStartEvent,
        ask: Callable[[ExtensionUI], Coroutine[Any, Any, Any]],
        default: Any,
    ) -> Any:
        screen = self._screen
        prompt = replace(prompt, id=self._all_dialogs.new_id(), with_guests=self._with_guests)
        with self._all_dialogs.opened(prompt) as dialog:
            await self._bus.emit(prompt, raises=DECISIONS)
            try:
                with self._watchdog.dialog():
                    answer = dialog.first_answer(lambda: ask(screen))
                    return await self._dialogs.answer(answer, default)
            finally:
                end_event = UiPromptEndEvent(kind=prompt.kind, title=prompt.title, id=prompt.id)
                await self._bus.emit(end_event, raises=DECISIONS)

    def _guarded_factory(self, what: str, make: Make) -> Make:
        return lambda *arguments: self._guard(what, make_drawable(make, *arguments))

    def _guard(self, what: str, drawable: Drawable) -> GuardedDrawable:
        return GuardedDrawable(drawable, lambda error: self._failed(self._owner, what, error))

    def _track_until(self, end: Callable[[], None]) -> Callable[[], None]:
        self._shown["until", end] = end
        return lambda: self._remove("until", end)

    def _track(self, kind: str, key: str, part: object, remove: Callable[[], None]) -> None:
        """Store the function that removes a shown part; forget it if ``part`` is ``None``."""
        if part is None:
            self._shown.pop((kind, key), None)
        else:
            self._shown[kind, key] = remove

    def _remove(self, kind: str, key: Hashable) -> None:
        if (remove := self._shown.pop((kind, key), None)) is not None:
            remove()

    def _end(self) -> None:
        self._dialogs.cancel_all()
        for part_key in reversed([*self._shown]):
            self._remove(*part_key)


def _non_default(**options: Any) -> dict[str, Any]:
    """Options that differ from their default: a UI need only support the options that are used."""
    return {
        name: value for name, value in options.items() if value is not None and value is not False
    }

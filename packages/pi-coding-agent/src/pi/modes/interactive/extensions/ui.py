"""The UI of extensions on this screen; one dialog is open at a time, the others are queued."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal, TypeAlias, TypeVar

from pi.agent.tool_calls import current_call
from pi.ai.models.model import Model
from pi.coding.extension_host.events.answers import record_from_fields
from pi.coding.extension_host.open_dialogs import as_options
from pi.coding.port.drawing import Drawable, FooterPart, Lines, Make, Rows, Theme, make_drawable
from pi.coding.port.ui import (
    EditorStyle,
    ExtensionUI,
    NotifyKind,
    Option,
    Placement,
    ThemeChange,
)
from pi.modes.interactive.dialogs import questions
from pi.modes.interactive.dialogs.opening_pages import open_in_browser
from pi.modes.interactive.dialogs.panel import DialogHints
from pi.modes.interactive.dialogs.time_limit import TimeLimit
from pi.modes.interactive.extensions.drawing import Failed, SafeInteractive
from pi.modes.interactive.extensions.editor import ExtensionEditing
from pi.modes.interactive.extensions.regions import ExtensionRegions
from pi.modes.interactive.extensions.theme import ExtensionTheme
from pi.modes.interactive.layout import AppLayout
from pi.modes.interactive.status.activity import FRAMES, TICK, Activity
from pi.modes.interactive.status.window_title import WindowTitle
from pi.modes.interactive.theme import Theme as ScreenTheme
from pi.modes.interactive.theme_file import InvalidTheme
from pi.modes.interactive.transcript.block import THINKING
from pi.modes.interactive.transcript.view import TranscriptView
from pi.modes.interactive.ui import OverlayShown, Ui
from pi.tui.component import Component
from pi.tui.input.keymap import Keymap
from pi.tui.overlays import Margin, OverlayOptions

T = TypeVar("T")

Waiting: TypeAlias = Callable[[], AbstractContextManager[None]]
"""Returns a context in which the time of tools stands still."""


class DialogQueue:
    """Shows one dialog at a time. A queued one can be cancelled, and its time limit can expire."""

    def __init__(self, ui: Ui, waiting: Waiting = nullcontext) -> None:
        self._ui = ui
        self._waiting = waiting
        self._turn = asyncio.Lock()

    async def ask(
        self,
        timeout: float | None,
        ask: Callable[[DialogHints], Awaitable[T | None]],
        on_timeout: T | None = None,
    ) -> T | None:
        """Return the answer of ``ask``; ``on_timeout`` if the time is over."""
        limit = TimeLimit(self._ui, timeout)

        async def ask_in_turn() -> T | None:
            async with self._turn:
                return await ask(limit.remaining_text)

        with self._waiting() if current_call.get() else nullcontext():
            return await limit.wait_for(ask_in_turn(), on_timeout)


async def show_component(
    ui: Ui,
    make: Make,
    factory_arguments: tuple[object, ...],
    *,
    overlay: OverlayOptions | None,
    on_shown: OverlayShown | None,
) -> Any:
    """Show a component of an extension and return its result; raises what it raises.

    ``factory_arguments`` are passed to ``make``, before the function that closes the component.
    Not queued: the component may be open for long, and may show a dialog itself.
    """

    def build(done: Callable[[Any], None]) -> Component:
        def failed(error: Exception) -> None:
            done(_Broken(error))

        component = make_drawable(make, *factory_arguments, done)
        if hasattr(component, "handle_input"):
            return SafeInteractive(component, failed)
        return _Closable(component, failed, ui.keymap, lambda: done(None))

    if overlay is not None:
        answer = await ui.overlay(build, overlay, on_shown=on_shown)
    else:
        answer = await ui.show(build)
    if isinstance(answer, _Broken):
        raise answer.error
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

    def __init__(self, error: Exception) -> None:
        self.error = error


def overlay_placement(options: Mapping[str, Any]) -> OverlayOptions:
    """Parse the placement of an overlay, by the names of ``OverlayOptions``."""
    fields = dict(options)
    margin = fields.get("margin")
    if isinstance(margin, Mapping):
        fields["margin"] = record_from_fields(Margin, margin, "The margin of an overlay")
    return record_from_fields(OverlayOptions, fields, "The place of an overlay")


class ScreenUI(ExtensionUI):
    """Implements ``ExtensionUI``, once per screen. A facade for each extension cleans up."""

    has_ui = True

    def __init__(
        self,
        screen: Ui,
        frame: AppLayout,
        activity: Activity,
        window: WindowTitle,
        transcript: TranscriptView,
        facts_changed: Callable[[], None] = lambda: None,
        *,
        waiting: Waiting = nullcontext,
    ) -> None:
        """``waiting`` is entered while a tool call waits for an answer."""
        self._screen = screen
        self._facts_changed = facts_changed
        self._activity = activity
        self._window = window
        self._transcript = transcript
        self._composer = frame.composer
        self.colours = ExtensionTheme(frame.theme)
        self.regions = ExtensionRegions(frame, self.colours)
        self._factory_arguments = (frame.tui, self.colours, frame.keymap)
        """The first arguments of a component factory."""
        self._dialogs = DialogQueue(screen, waiting)
        self._editing = ExtensionEditing(
            frame, self._factory_arguments, lambda text: screen.notify(text, "error")
        )
        self.completing = self._editing.completing
        """The completion sources."""

    @property
    def theme(self) -> Theme:
        """The theme."""
        return self.colours

    # Dialogs --------------------------------------------------------------------------------------

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
        """Ask for one of ``options``, or for several."""
        rows = [
            questions.Option(
                value=option.label,
                label=option.label,
                description=option.description,
                preview=option.preview,
                key=option.key,
            )
            for option in as_options(options)
        ]
        chosen = () if initial is None else (initial,) if isinstance(initial, str) else initial

        async def ask_about_call(aside: DialogHints) -> Any:
            with self._transcript.feed.shown_in_dialog(call_id):
                if multi:
                    return await questions.choose_several(
                        self._screen, title, rows, initial=chosen, aside=aside
                    )
                return await questions.choose(
                    self._screen,
                    title,
                    rows,
                    initial=chosen,
                    numbered=True,
                    cancel=cancel or "cancel",
                    aside=aside,
                )

        return await self._dialogs.ask(timeout, ask_about_call, on_timeout)

    async def select_model(self, title: str) -> Model | None:
        """Show the list of models."""
        # Deferred: few extensions choose models.
        from pi.modes.interactive.dialogs.model_picker import pick_model

        picked = await self._dialogs.ask(
            None, lambda aside: pick_model(self._screen, title, can_be_default=False, aside=aside)
        )
        return None if picked is None else picked.model

    async def confirm(
        self,
        title: str,
        message: str,
        *,
        default: bool = True,
        timeout: float | None = None,
        on_timeout: Any = False,
    ) -> Any:
        """Ask a yes-or-no question."""
        answer = await self._dialogs.ask(
            timeout,
            lambda aside: questions.confirm(
                self._screen, title, message, default=default, aside=aside
            ),
            on_timeout,
        )
        return False if answer is None else answer

    async def input(
        self,
        title: str,
        placeholder: str = "",
        *,
        secret: bool = False,
        timeout: float | None = None,
        on_timeout: Any = None,
    ) -> Any:
        """Ask for a line of text."""
        return await self._dialogs.ask(
            timeout,
            lambda aside: questions.ask_text(
                self._screen, title, placeholder=placeholder, masked=secret, aside=aside
            ),
            on_timeout,
        )

    async def editor(
        self,
        title: str,
        prefill: str = "",
        *,
        style: EditorStyle = "prompt",
        timeout: float | None = None,
        on_timeout: Any = None,
    ) -> Any:
        """Ask for a longer text."""
        return await self._dialogs.ask(
            timeout,
            lambda aside: questions.edit_text(
                self._screen, title, prefill, enter_submits=style == "prompt", aside=aside
            ),
            on_timeout,
        )

    async def custom(
        self,
        make: Make,
        *,
        overlay: bool = False,
        overlay_options: Mapping[str, Any] | None = None,
        on_handle: Callable[[Any], None] | None = None,
    ) -> Any:
        """Show a component of the extension and return its result."""
        placement = overlay_placement(overlay_options or {}) if overlay else None
        return await show_component(
            self._screen, make, self._factory_arguments, overlay=placement, on_shown=on_handle
        )

    # Notices --------------------------------------------------------------------------------------

    def open_url(self, url: str) -> None:
        """Open a web page in the browser; other addresses might start programs."""
        if url.startswith(("https://", "http://")):
            opened = open_in_browser(url, self._screen.host)
            self._screen.tasks.start(opened, name="browser")

    def alert(self, text: str) -> None:
        """Notify the user if the window has no focus."""
        self._window.notify(text)

    def notify(self, message: str, kind: NotifyKind | None = None) -> None:
        """Show a transient notice, or add warnings and errors to the transcript."""
        self._screen.notify(message, kind or "info")

    def write(self, text: str) -> None:
        """Add the output of a command to the transcript: a transient notice has three rows."""
        self._transcript.notice(text, "info")
        self._screen.request_render()

    def set_status(self, key: str, text: str | None) -> None:
        """Set a status text below the footer."""
        self.regions.set_status(key, text)

    def set_fact(self, name: str, text: str | None) -> None:
        """Show the changed fact in the footer."""
        self._facts_changed()

    async def copy(self, text: str) -> bool:
        """Copy a text to the clipboard; terminals do not confirm it."""
        await self._screen.clipboard.copy(text)
        return True

    def set_title(self, title: str) -> None:
        """Set the window title."""
        self._window.override(title)

    # Rows -----------------------------------------------------------------------------------------

    def set_widget(
        self, key: str, lines: Lines | None, *, placement: Placement | None = None
    ) -> None:
        """Show a widget beside the editor."""
        self.regions.set_widget(key, lines, placement)

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
        return self.regions.lines.set(key, rows, order=order, replaces=replaces)

    def set_footer(self, make: Make | None) -> None:
        """Set the footer."""
        self.regions.set_footer(make)

    def set_header(self, make: Make | None) -> None:
        """Set the header."""
        self.regions.set_header(make)

    # While the agent works ------------------------------------------------------------------------

    def set_working_message(self, message: str | None = None) -> None:
        """Set the text shown while the agent works."""
        self._activity.indicator.message = message
        self._activity.on_work()

    def set_working_visible(self, *, visible: bool) -> None:
        """Show or hide the activity."""
        self._activity.indicator.is_visible = visible
        self._activity.on_work()

    def set_working_indicator(
        self, frames: Sequence[str] | None = None, interval: float | None = None
    ) -> None:
        """Set the spinner."""
        indicator = self._activity.indicator
        indicator.frames = FRAMES if frames is None else tuple(frames)
        indicator.interval = interval or TICK
        self._activity.on_work()

    def set_hidden_thinking_label(self, label: str | None = None) -> None:
        """Set the label of hidden thinking."""
        self._transcript.set_thinking_label(THINKING if label is None else label)
        self._screen.refresh()

    def get_tools_expanded(self) -> bool:
        """Whether tool outputs are expanded."""
        return self._transcript.look.is_expanded

    def set_tools_expanded(self, *, expanded: bool) -> None:
        """Expand or folds tool outputs."""
        if expanded != self.get_tools_expanded():
            self._transcript.expand(expanded=expanded)
            self._screen.refresh()

    # The editor -----------------------------------------------------------------------------------

    def set_editor_component(self, make: Make | None) -> None:
        """Set the editor."""
        self._editing.use(make)

    def get_editor_component(self) -> Drawable | None:
        """The editor of an extension, if one is set."""
        return self._editing.component

    def paste_to_editor(self, text: str) -> None:
        """Insert text at the cursor."""
        self._editing.paste(text)

    def set_editor_text(self, text: str) -> None:
        """Replace the text."""
        self._editing.set_text(text)

    def get_editor_text(self) -> str:
        """The text."""
        return self._composer.text

    def add_autocomplete_provider(self, provider: Any) -> Callable[[], None]:
        """Add a completion provider."""
        return self._editing.completing.add(provider)

    def on_terminal_input(self, listener: Callable[[str], Any]) -> Callable[[], None]:
        """Add a key listener."""
        return self._editing.listen(listener)

    # Themes ---------------------------------------------------------------------------------------

    def get_all_themes(self) -> Sequence[str]:
        """The names of all themes."""
        return self._screen.themes.names

    def get_theme(self, name: str) -> Theme | None:
        """Return a theme by its name."""
        try:
            palette = self._screen.themes.palette(name)
        except InvalidTheme:
            return None
        return ExtensionTheme(ScreenTheme(palette, self._screen.theme.depth))

    def set_theme(self, theme: str) -> ThemeChange:
        """Select a theme and save it in the settings."""
        try:
            self._screen.themes.use(theme)
        except InvalidTheme as error:
            return ThemeChange(success=False, error=error.explain())
        self._screen.port.settings.set({"theme": theme})
        return ThemeChange(success=True)

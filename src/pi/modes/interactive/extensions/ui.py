"""The interface of extensions on this screen: hands every wish to the part it belongs to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from pi.coding.port.drawing import Drawable, Lines, Make, Rows, Theme
from pi.coding.port.ui import ExtensionUI, NotifyKind, Option, Placement, ThemeChange
from pi.modes.interactive.app_ui import AppUi
from pi.modes.interactive.extensions.dialogs import ExtensionDialogs
from pi.modes.interactive.extensions.drawing import ExtensionTheme, ExtensionThemes
from pi.modes.interactive.extensions.editor import ExtensionEditing
from pi.modes.interactive.extensions.regions import ExtensionRegions
from pi.modes.interactive.layout import AppLayout
from pi.modes.interactive.status.activity import FRAMES, TICK, Activity
from pi.modes.interactive.status.status import WindowTitle
from pi.modes.interactive.transcript.block import THINKING
from pi.modes.interactive.transcript.view import TranscriptView

# How the conversation and the work on it are shown, as far as extensions may say.


class DisplayControls:
    """Changes what other regions show; ``refresh`` draws everything anew."""

    def __init__(
        self,
        activity: Activity,
        window: WindowTitle,
        transcript: TranscriptView,
        *,
        refresh: Callable[[], None],
    ) -> None:
        self._activity = activity
        self._window = window
        self._transcript = transcript
        self._refresh = refresh

    def set_title(self, title: str) -> None:
        """Call the window something else; empty brings its usual name back."""
        self._window.override(title)

    def set_working_message(self, message: str | None) -> None:
        """Say something in place of what the agent does."""
        self._activity.indicator.message = message
        self._activity.on_work()

    def set_working_visible(self, *, visible: bool) -> None:
        """Show that the agent works, or hide it."""
        self._activity.indicator.is_visible = visible
        self._activity.on_work()

    def set_working_frames(self, frames: Sequence[str] | None, interval: float | None) -> None:
        """Show another spinner; ``None`` is the usual one."""
        indicator = self._activity.indicator
        indicator.frames = FRAMES if frames is None else tuple(frames)
        indicator.interval = interval or TICK
        self._activity.on_work()

    def set_thinking_label(self, label: str | None) -> None:
        """Say what stands for thoughts that are hidden; ``None`` is the usual word."""
        self._transcript.call_thinking(THINKING if label is None else label)
        self._refresh()

    @property
    def is_expanded(self) -> bool:
        """Whether outputs of tools are shown whole."""
        return self._transcript.look.is_expanded

    def expand(self, *, expanded: bool) -> None:
        """Show outputs of tools whole, or folded."""
        if expanded != self.is_expanded:
            self._transcript.expand(expanded=expanded)
            self._refresh()


class ScreenUI(ExtensionUI):
    """One for the screen; each extension has its own view of it, which tidies up."""

    has_ui = True

    def __init__(self, screen: AppUi, frame: AppLayout, showing: DisplayControls) -> None:
        self._screen = screen
        self.colours = ExtensionTheme(frame.theme)
        self._showing = showing
        self._themes = ExtensionThemes(screen)
        self.regions = ExtensionRegions(frame, self.colours)
        given = (frame.tui, self.colours, frame.keymap)
        self._questions = ExtensionDialogs(screen, given)
        self._editing = ExtensionEditing(frame, given, lambda text: screen.notify(text, "error"))
        self.completing = self._editing.completing
        """Where suggestions come from."""

    @property
    def theme(self) -> Theme:
        """The colours."""
        return self.colours

    # Dialogs --------------------------------------------------------------------------------------

    async def select(
        self, title: str, options: Sequence[str | Option], *, timeout: float | None = None
    ) -> str | None:
        """One of ``options``."""
        return await self._questions.select(title, options, timeout)

    async def confirm(self, title: str, message: str, *, timeout: float | None = None) -> bool:
        """Yes or no."""
        return await self._questions.confirm(title, message, timeout)

    async def input(
        self,
        title: str,
        placeholder: str = "",
        *,
        secret: bool = False,
        timeout: float | None = None,
    ) -> str | None:
        """A line of text."""
        return await self._questions.input(title, placeholder, timeout, secret=secret)

    async def editor(
        self, title: str, prefill: str = "", *, timeout: float | None = None
    ) -> str | None:
        """A longer text."""
        return await self._questions.editor(title, prefill, timeout)

    async def custom(
        self,
        make: Make,
        *,
        overlay: bool = False,
        overlay_options: Mapping[str, Any] | None = None,
        on_handle: Callable[[Any], None] | None = None,
    ) -> Any:
        """What a component of the extension's own comes to."""
        return await self._questions.custom(make, overlay_options, on_handle, overlay=overlay)

    # What is told ---------------------------------------------------------------------------------

    def notify(self, message: str, kind: NotifyKind | None = None) -> None:
        """Say something: in passing, or in the transcript if it went wrong."""
        self._screen.notify(message, kind or "info")

    def set_status(self, key: str, text: str | None) -> None:
        """Say something below the footer."""
        self.regions.set_status(key, text)

    def set_title(self, title: str) -> None:
        """Call the window something else."""
        self._showing.set_title(title)

    # Rows -----------------------------------------------------------------------------------------

    def set_widget(
        self, key: str, lines: Lines | None, *, placement: Placement | None = None
    ) -> None:
        """Show something beside the editor."""
        self.regions.set_widget(key, lines, placement)

    def set_rows(
        self, key: str, rows: Drawable, *, where: Literal["footer"] = "footer", order: int = 0
    ) -> Rows:
        """Show rows below the footer."""
        return self.regions.lines.set(key, rows, order=order)

    def set_footer(self, make: Make | None) -> None:
        """Another footer."""
        self.regions.set_footer(make)

    def set_header(self, make: Make | None) -> None:
        """Another header."""
        self.regions.set_header(make)

    # While the agent works ------------------------------------------------------------------------

    def set_working_message(self, message: str | None = None) -> None:
        """What is shown while the agent works."""
        self._showing.set_working_message(message)

    def set_working_visible(self, *, visible: bool) -> None:
        """Whether that is shown at all."""
        self._showing.set_working_visible(visible=visible)

    def set_working_indicator(
        self, frames: Sequence[str] | None = None, interval: float | None = None
    ) -> None:
        """What moves while the agent works."""
        self._showing.set_working_frames(frames, interval)

    def set_hidden_thinking_label(self, label: str | None = None) -> None:
        """What stands for thoughts that are hidden."""
        self._showing.set_thinking_label(label)

    def get_tools_expanded(self) -> bool:
        """Whether outputs of tools are shown whole."""
        return self._showing.is_expanded

    def set_tools_expanded(self, *, expanded: bool) -> None:
        """Whether outputs of tools are shown whole."""
        self._showing.expand(expanded=expanded)

    # The editor -----------------------------------------------------------------------------------

    def set_editor_component(self, make: Make | None) -> None:
        """Another editor."""
        self._editing.use(make)

    def get_editor_component(self) -> Drawable | None:
        """The editor that an extension has brought."""
        return self._editing.component

    def paste_to_editor(self, text: str) -> None:
        """Put text where the cursor is."""
        self._editing.paste(text)

    def set_editor_text(self, text: str) -> None:
        """Replace what is written."""
        self._editing.set_text(text)

    def get_editor_text(self) -> str:
        """What is written."""
        return self._editing.text

    def add_autocomplete_provider(self, provider: Any) -> Callable[[], None]:
        """Complete more."""
        return self._editing.completing.add(provider)

    def on_terminal_input(self, listener: Callable[[str], Any]) -> Callable[[], None]:
        """See every key first."""
        return self._editing.listen(listener)

    # Themes ---------------------------------------------------------------------------------------

    def get_all_themes(self) -> Sequence[str]:
        """The names of the themes that there are."""
        return self._themes.names

    def get_theme(self, name: str) -> Theme | None:
        """A theme by its name."""
        return self._themes.get(name)

    def set_theme(self, theme: str) -> ThemeChange:
        """Use another theme from now on, and the next time."""
        return self._themes.use(theme)

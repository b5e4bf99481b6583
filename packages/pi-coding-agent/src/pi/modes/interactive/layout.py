"""The first frame: a usable editor before anything slow is loaded."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from pi.base.clock import Clock
from pi.base.records import replace
from pi.base.tasks import TaskScope
from pi.modes.interactive.composer.composer import Composer
from pi.modes.interactive.composer.prompt import TypingDetector
from pi.modes.interactive.early_settings import EarlySettings, early_settings
from pi.modes.interactive.startup import AppOptions, load_keys
from pi.modes.interactive.status.footer import Footer, FooterFacts, TransientNotice, short_folder
from pi.modes.interactive.status.last_footer import LastFooters
from pi.modes.interactive.theme import Theme
from pi.modes.interactive.theme_file import InvalidTheme
from pi.modes.interactive.theme_selector import ThemeSelector, built_in, follows_terminal, themes_in
from pi.tui.component import Area, Component
from pi.tui.containers import Container, Spacer
from pi.tui.input.actions import platform_of
from pi.tui.input.keymap import Keymap
from pi.tui.input.keys import is_key_release
from pi.tui.style import ColourDepth
from pi.tui.terminal import Capabilities, Terminal, detect
from pi.tui.tui import TUI

if TYPE_CHECKING:
    from pi.modes.interactive.fullscreen import Fullscreen


# Place of the editor and of dialogs ---------------------------------------------------------------


class DialogSlot:
    """Shows the latest dialog in place of the editor.

    ``resident`` is shown if no dialog is open; ``typist`` is its part that gets the keys. ``focus``
    sets the component that gets the keys.
    """

    def __init__(
        self, resident: Component, typist: Component, focus: Callable[[Component], None]
    ) -> None:
        self._resident = resident
        self._typist = typist
        self._focus = focus
        self._guests: list[Component] = []
        self._resting_rows = 0
        """Height of the resident when it was last drawn."""
        self._width = self._rows = 0
        self.transient_rows = 0
        """Rows that disappear when the dialogs close; without a dialog, those of the resident."""

    @property
    def has_dialog(self) -> bool:
        """Whether a dialog is open."""
        return bool(self._guests)

    @property
    def children(self) -> tuple[Component, ...]:
        """The visible component."""
        return (self._guests[-1] if self._guests else self._resident,)

    def areas_at(self, row: int) -> list[Area]:
        """The area of the visible component."""
        (component,) = self.children
        return [Area(component, 0, 0, self._width, self._rows)]

    def render(self, width: int) -> list[str]:
        """The rows of the visible component."""
        (component,) = self.children
        rows = component.render(width)
        self._width, self._rows = width, len(rows)
        if self.has_dialog:
            self.transient_rows = max(self._rows - self._resting_rows, 0)
        else:
            self.transient_rows = getattr(self._resident, "transient_rows", 0)
            self._resting_rows = self._rows - self.transient_rows
        return rows

    def invalidate(self) -> None:
        """Invalidate the cached rows."""
        self._resident.invalidate()
        for guest in self._guests:
            guest.invalidate()

    def push(self, guest: Component) -> None:
        """Show a component and give it the keys."""
        self._guests.append(guest)
        self._settle()

    def remove(self, guest: Component) -> None:
        """Remove a component; the previous one is shown again."""
        self._guests = [other for other in self._guests if other is not guest]
        self._settle()

    def clear(self) -> None:
        """Remove all dialogs."""
        self._guests.clear()
        self._settle()

    def _settle(self) -> None:
        self._focus(self._guests[-1] if self._guests else self._typist)


# Layout -------------------------------------------------------------------------------------------


class AppLayout:
    """Everything on the screen from the first frame on."""

    def __init__(
        self,
        start: AppOptions,
        terminal: Terminal,
        *,
        tasks: TaskScope,
        on_disconnect: Callable[[], None],
        strict: bool = False,
    ) -> None:
        self.problems: list[str] = []
        """Errors in the user's own files."""
        values = early_settings(start.agent_dir)
        if start.fullscreen is not None:
            values = replace(values, tui_mode="fullscreen" if start.fullscreen else "regular")
        self.screen_reader = start.screen_reader or values.tui.screen_reader
        """Whether everything is written as plain lines."""
        if self.screen_reader:
            values = replace(values, tui_mode="regular")
        capabilities = apply_terminal_settings(detect(start.environ), values)
        self.tui = TUI(
            terminal,
            env=start.environ,
            mode="plain" if self.screen_reader else values.tui_mode,
            capabilities=capabilities,
            strict=strict,
            follow_scheme=follows_terminal(start.theme or values.theme),
            on_disconnect=on_disconnect,
        )
        self.theme = Theme(built_in(self.tui.appearance.scheme), capabilities.colours)
        self.themes = self._new_themes(start, values)
        self.keymap = Keymap(platform=platform_of(start.system, start.environ))
        self.problems += load_keys(self.keymap, start.agent_dir)
        self.composer = self._new_composer(tasks, TypingDetector(start.clock), values)
        self.header = Container()
        """The header, above the conversation."""
        self.above = Container(self.header)
        """The header, and the transcript, which is added later."""
        self.above_editor, self.below_editor = Container(), Container()
        """Widgets of extensions beside the editor."""
        self.passing = TransientNotice(self.theme)
        self.footer = Footer(self.theme, mode_key=lambda: _key_of_mode(self.keymap))
        self.last_footers = LastFooters(
            start.agent_dir, start.cwd, start.environ, start.model_options
        )
        folder = short_folder(start.cwd, start.home)
        loading = FooterFacts(cwd=folder, note="loading…")
        self.footer.show(self.last_footers.find(folder) or loading)
        self.bottom = Container(self.footer)
        """The footer, built-in or of an extension."""
        self.slot = DialogSlot(self.composer.component, self.composer.prompt, self.tui.set_focus)
        self.fullscreen: Fullscreen | None = None
        """Only in fullscreen mode."""
        self._assemble(values)
        self.tui.set_focus(self.composer.prompt)

    def _new_themes(self, start: AppOptions, values: EarlySettings) -> ThemeSelector:
        appearance = self.tui.appearance
        themes = ThemeSelector(
            self.theme,
            files=lambda: themes_in(start.agent_dir / "themes"),
            scheme=lambda: appearance.scheme,
            redraw=self.tui.reset_display,
        )
        with suppress(InvalidTheme):  # the session knows more themes and reports errors
            themes.use(start.theme or values.theme)
        appearance.on_change(themes.scheme_changed)
        return themes

    def _new_composer(
        self, tasks: TaskScope, typing: TypingDetector, values: EarlySettings
    ) -> Composer:
        composer = Composer(
            self.theme,
            self.keymap,
            tasks=tasks,
            typing=typing,
            screen_rows=lambda: self.tui.terminal.size.rows,
            request_render=self.tui.request_render,
        )
        composer.arrange(
            padding=values.editor_padding_x, suggestions=values.autocomplete_max_visible
        )
        composer.usual.set_vim(enabled=values.editor.mode == "vim")
        if self.screen_reader:
            composer.show_placeholder("")
        composer.show_level(values.default_thinking_level)
        return composer

    def _assemble(self, values: EarlySettings) -> None:
        """Add all parts to the screen, from top to bottom."""
        for part in (
            self._top(values),
            self.passing,
            Spacer(1),
            self.above_editor,
            self.slot,
            self.below_editor,
        ):
            self.tui.add_child(part)
        if not self.screen_reader:  # the numbers change with every answer; /session has them
            self.tui.add_child(self.bottom)

    def _top(self, values: EarlySettings) -> Component:
        if values.tui_mode == "regular":
            return self.above
        from pi.modes.interactive.fullscreen import Fullscreen  # deferred: most users never use it

        self.fullscreen = Fullscreen(
            self.tui,
            self.theme,
            self.keymap,
            self.above,
            values,
            is_typing=lambda: not self.slot.has_dialog,
        )
        return self.fullscreen.view


def apply_terminal_settings(capabilities: Capabilities, values: EarlySettings) -> Capabilities:
    """Return the terminal capabilities; settings override the environment."""
    terminal = values.terminal
    changes: dict[str, object] = {}
    if terminal.hyperlinks != "auto":
        changes["hyperlinks"] = terminal.hyperlinks
    if terminal.true_color != "auto" and capabilities.colours != ColourDepth.NONE:
        changes["colours"] = ColourDepth.TRUE if terminal.true_color else ColourDepth.PALETTE
    if terminal.images != "auto":
        changes["images"] = terminal.images or None
    if values.show_hardware_cursor:
        changes["hardware_cursor"] = True
    return replace(capabilities, **changes) if changes else capabilities


def _key_of_mode(keymap: Keymap) -> str:
    """The key that changes the permission mode."""
    # deferred: most sessions have no permission mode
    from pi.modes.interactive.dialogs.message import shown_key

    keys = keymap.keys("app.permissions.cycle")
    return shown_key(keys[0]) if keys else ""


# Double press of a key ----------------------------------------------------------------------------


TWICE_SECONDS = 0.5
"""Maximum seconds between two presses of a double press."""
EXIT_HINT_SECONDS = 1.5
"""Seconds for which the hint is shown; meanwhile a further press exits."""


class DoublePressDetector:
    """Remembers the last press of one key."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last: float | None = None

    def is_second(self) -> bool:
        """Record a press; returns whether it completes a double press, which resets it."""
        now, last = self._clock.monotonic(), self._last
        is_second = last is not None and now - last <= TWICE_SECONDS
        self._last = None if is_second else now
        return is_second

    @property
    def is_pending(self) -> bool:
        """Whether another press now would be the second one."""
        return self._last is not None and self._clock.monotonic() - self._last <= TWICE_SECONDS


# Keys that clear the text and quit ----------------------------------------------------------------


class QuitKeys:
    """Ctrl+C clears the text, interrupts the run, then quits; Ctrl+D quits an empty editor.

    With text, a press clears it, and a second one within half a second quits. Without text, a press
    interrupts the run, if there is one, and shows a hint for a short time: while it is visible, a
    further press quits, and every other key removes it. The keys work from the first frame on.
    """

    def __init__(
        self,
        frame: AppLayout,
        tasks: TaskScope,
        *,
        clock: Clock,
        quit: Callable[[], None],
    ) -> None:
        self.interrupt: Callable[[], object] = lambda: None
        """Interrupts the run, if there is one; set when the session is open."""
        self._frame = frame
        self._composer = frame.composer
        self._tasks = tasks
        self._clock = clock
        self._quit = quit
        self._presses = DoublePressDetector(clock)
        self._end_hint: Callable[[], None] | None = None
        """Removes the hint; ``None`` while it is not shown."""

    def act(self, action: str) -> bool:
        """Run an action; returns whether it was handled."""
        match action:
            case "app.clear":
                self._clear()
                return True
            case "app.exit" if not self._composer.text:
                self._quit()
                return True
        return False

    def end_hint(self) -> None:
        """Remove the hint, e.g. because text returned to the editor: the next press clears it."""
        if self._end_hint is not None:
            self._end_hint()

    def _clear(self) -> None:
        has_text = bool(self._composer.text)
        if self._end_hint is not None:
            self._end_hint()
            if not has_text:  # queued messages may have returned to the editor
                self._quit()
                return
        if has_text or self._presses.is_pending:
            if self._presses.is_second():
                self._quit()
            else:
                self._composer.take()  # Up restores it
        else:
            self.interrupt()
            self._show_hint()

    def _show_hint(self) -> None:
        """Shows that a further press quits, until the time is over or another key is pressed."""
        # deferred: not needed for the first frame
        from pi.modes.interactive.dialogs.message import shown_key

        frame, notice = self._frame, self._frame.passing
        keys = frame.keymap.keys("app.clear")
        text = f"Press {shown_key(keys[0] if keys else '')} again to exit"
        stop_listening = frame.tui.add_input_listener(self._other_key)

        def end() -> None:
            self._end_hint = None
            stop_listening()
            if notice.text == text:
                notice.show("")
                frame.tui.request_render()

        self._end_hint = end
        notice.show(text)
        frame.tui.request_render()
        self._tasks.start(self._expire(end), name="exit hint")

    async def _expire(self, end: Callable[[], None]) -> None:
        await self._clock.sleep(EXIT_HINT_SECONDS)
        if self._end_hint is end:
            end()

    def _other_key(self, data: str) -> None:
        is_other = not is_key_release(data) and not self._frame.keymap.matches(data, "app.clear")
        if is_other and self._end_hint is not None:
            self._end_hint()

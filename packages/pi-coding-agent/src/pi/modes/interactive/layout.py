"""The first frame: a usable editor before anything slow is loaded."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from pi.base.records import replace
from pi.base.tasks import TaskScope
from pi.modes.interactive.composer.composer import Composer
from pi.modes.interactive.composer.prompt import TypingDetector
from pi.modes.interactive.dialog_slot import DialogSlot
from pi.modes.interactive.early_settings import EarlySettings, early_settings
from pi.modes.interactive.startup import AppOptions, load_keys
from pi.modes.interactive.status.footer import Footer, FooterFacts, short_folder
from pi.modes.interactive.status.last_footer import LastFooters
from pi.modes.interactive.status.transient_notice import TransientNotice
from pi.modes.interactive.theme import Theme
from pi.modes.interactive.theme_file import InvalidTheme
from pi.modes.interactive.theme_selector import ThemeSelector, built_in, follows_terminal, themes_in
from pi.tui.component import Component
from pi.tui.containers import Container, Spacer
from pi.tui.input.actions import platform_of
from pi.tui.input.keymap import Keymap
from pi.tui.style import ColourDepth
from pi.tui.terminal import Capabilities, Terminal, detect
from pi.tui.tui import TUI

if TYPE_CHECKING:
    from pi.modes.interactive.fullscreen import Fullscreen


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
            colours=self.tui.colours,
            follow_colours=lambda: self.tui.negotiation.follow_colours(at_once=self.tui.is_running),
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


# Keys that clear the text and quit ----------------------------------------------------------------

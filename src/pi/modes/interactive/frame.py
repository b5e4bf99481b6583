"""The first frame: an editor that can be written in, before anything slow is loaded."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from pi.base.records import replace
from pi.base.tasks import TaskScope
from pi.modes.interactive.composer.composer import Composer
from pi.modes.interactive.composer.typing_pause import TypingPause
from pi.modes.interactive.early_settings import EarlySettings, early_settings
from pi.modes.interactive.keymap import load_keys
from pi.modes.interactive.slot import Slot
from pi.modes.interactive.startup import Start
from pi.modes.interactive.status.footer import Footer, FooterFacts, short_folder
from pi.modes.interactive.status.passing import PassingNotice
from pi.modes.interactive.theme import Theme
from pi.modes.interactive.theme_choice import (
    ThemeChoice,
    built_in,
    follows_terminal,
    themes_in,
)
from pi.modes.interactive.theme_file import BadTheme
from pi.tui.capabilities import Capabilities, detect
from pi.tui.component import Component
from pi.tui.containers import Container
from pi.tui.input.actions import platform_of
from pi.tui.input.keymap import Keymap
from pi.tui.style import ColourDepth
from pi.tui.terminal import Terminal
from pi.tui.tui import TUI
from pi.tui.widgets.spacer import Spacer

if TYPE_CHECKING:
    from pi.modes.interactive.fullscreen import Fullscreen


class Frame:
    """Everything that is on the screen from the first moment on."""

    def __init__(
        self,
        start: Start,
        terminal: Terminal,
        *,
        tasks: TaskScope,
        on_gone: Callable[[], None],
        strict: bool = False,
    ) -> None:
        self.problems: list[str] = []
        """What is wrong with the person's own files."""
        values = early_settings(start.agent_dir)
        if start.fullscreen is not None:
            values = replace(values, tui_mode="fullscreen" if start.fullscreen else "regular")
        capabilities = wanted_capabilities(detect(start.environ), values)
        self.tui = TUI(
            terminal,
            env=start.environ,
            mode=values.tui_mode,
            capabilities=capabilities,
            strict=strict,
            follow_scheme=follows_terminal(start.theme or values.theme),
            on_gone=on_gone,
        )
        self.theme = Theme(built_in(self.tui.appearance.scheme), capabilities.colours)
        self.themes = self._new_themes(start, values)
        self.keymap = Keymap(platform=platform_of(start.system, start.environ))
        self.problems += load_keys(self.keymap, start.agent_dir)
        self.composer = self._new_composer(tasks, TypingPause(start.clock), values)
        self.header = Container()
        """For what stands above the conversation."""
        self.above = Container(self.header)
        """For what comes later: the transcript."""
        self.above_editor, self.below_editor = Container(), Container()
        """For what others show beside the editor."""
        self.passing = PassingNotice(self.theme)
        self.footer = Footer(self.theme)
        self.footer.show(FooterFacts(cwd=short_folder(start.cwd, start.home), note="loading…"))
        self.bottom = Container(self.footer)
        """The footer, and what others show there."""
        self.slot = Slot(self.composer.component, self.composer.prompt, self.tui.set_focus)
        self.fullscreen: Fullscreen | None = None
        """Only when the whole screen is ours."""
        self._put_together(values)
        self.tui.set_focus(self.composer.prompt)

    def _new_themes(self, start: Start, values: EarlySettings) -> ThemeChoice:
        appearance = self.tui.appearance
        themes = ThemeChoice(
            self.theme,
            files=lambda: themes_in(start.agent_dir / "themes"),
            scheme=lambda: appearance.scheme,
            redraw=self.tui.reset_display,
        )
        with suppress(BadTheme):  # the session knows of more themes, and tells what is wrong
            themes.use(start.theme or values.theme)
        appearance.on_change(themes.scheme_changed)
        return themes

    def _new_composer(
        self, tasks: TaskScope, typing: TypingPause, values: EarlySettings
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
        composer.show_level(values.default_thinking_level)
        return composer

    def _put_together(self, values: EarlySettings) -> None:
        """Put every part on the screen, from top to bottom."""
        for part in (
            self._top(values),
            self.passing,
            Spacer(1),
            self.above_editor,
            self.slot,
            self.below_editor,
            self.bottom,
        ):
            self.tui.add_child(part)

    def _top(self, values: EarlySettings) -> Component:
        if values.tui_mode == "regular":
            return self.above
        from pi.modes.interactive.fullscreen import Fullscreen  # most people never use it

        self.fullscreen = Fullscreen(
            self.tui,
            self.theme,
            self.keymap,
            self.above,
            values,
            is_typing=lambda: not self.slot.is_taken,
        )
        return self.fullscreen.view


def wanted_capabilities(found: Capabilities, values: EarlySettings) -> Capabilities:
    """What the terminal can do, as far as the settings want it; they beat the environment."""
    terminal = values.terminal
    changes: dict[str, object] = {}
    if terminal.hyperlinks != "auto":
        changes["hyperlinks"] = terminal.hyperlinks
    if terminal.true_color != "auto" and found.colours != ColourDepth.NONE:
        changes["colours"] = ColourDepth.TRUE if terminal.true_color else ColourDepth.PALETTE
    if terminal.images != "auto":
        changes["images"] = terminal.images or None
    if values.show_hardware_cursor:
        changes["hardware_cursor"] = True
    return replace(found, **changes) if changes else found

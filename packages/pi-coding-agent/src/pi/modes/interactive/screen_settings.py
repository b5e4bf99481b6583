"""Applies the settings of the screen, at once and after every change."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from pi.base.terminal_text import sanitise
from pi.coding.settings.settings import Settings
from pi.coding.settings.values import Values
from pi.coding.tools.images import ImageLimits
from pi.modes.interactive.layout import AppLayout
from pi.modes.interactive.startup import AppOptions
from pi.modes.interactive.status.activity import Activity
from pi.modes.interactive.theme_file import InvalidTheme
from pi.modes.interactive.transcript.view import TranscriptView
from pi.tui.desktop import Clipboard, runner
from pi.tui.images.graphics import Graphics
from pi.tui.terminal import has_placeholders
from pi.tui.text.width import expand_tabs
from pi.tui.tui import TUI


class SettingsApplier:
    """Follows one settings object at a time; ``theme_override`` overrides its first theme."""

    def __init__(
        self,
        frame: AppLayout,
        transcript: TranscriptView,
        graphics: Graphics | None,
        *,
        theme_override: str | None,
        activity: Activity,
    ) -> None:
        self._activity = activity
        self._frame = frame
        self._transcript = transcript
        self._graphics = graphics
        self._theme_override = theme_override
        self._settings: Settings | None = None
        self._theme: tuple[str | None] | None = None
        """The last theme setting."""
        self._has_begun = False
        self._missing: str | None = None
        """A theme that was not found before extensions were loaded."""

    def follow(self, settings: Settings) -> None:
        """Apply the settings of a session; another folder has others."""
        if settings is not self._settings:
            self._settings = settings
            settings.on_change(self._apply)
        self._apply()

    def begun(self) -> None:
        """Look again for a theme that was not found: all themes are known now."""
        self._has_begun = True
        if self._missing is not None:
            self._use(self._missing)

    def image_limits(self) -> ImageLimits:
        """The size limits of attached images."""
        return ImageLimits(
            resize=self._settings is None or self._settings.values.images.auto_resize
        )

    def _apply(self) -> None:
        if self._settings is None:
            return
        values = self._settings.values
        look, composer = self._transcript.look, self._frame.composer
        composer.arrange(
            padding=values.editor_padding_x, suggestions=values.autocomplete_max_visible
        )
        self._activity.indicator.is_still = values.tui.reduced_motion or self._frame.screen_reader
        composer.usual.set_vim(enabled=values.editor.mode == "vim")
        self._frame.theme.code_indent = expand_tabs(sanitise(values.markdown.code_block_indent))
        look.pad = values.output_pad
        look.image_columns = values.terminal.image_width_cells
        if self._graphics is not None:
            self._graphics.show_at_most(values.tui.max_inline_images)
        look.graphics = self._graphics if values.terminal.show_images else None
        hidden = values.hide_thinking_block
        folded = not hidden and "hideThinkingBlock" not in self._settings.raw
        if (look.hides_thinking, look.folds_thinking) != (hidden, folded):
            self._transcript.hide_thinking(hidden=hidden, folded=folded)
        self._follow_theme(values)

    def _follow_theme(self, values: Values) -> None:
        if self._theme == (values.theme,):
            return
        first = self._theme_override if self._theme is None else None
        self._theme = (values.theme,)
        self._use(first or values.theme)

    def _use(self, theme: str | None) -> None:
        self._missing = None
        try:
            self._frame.themes.use(theme)
        except InvalidTheme as error:
            if not self._has_begun:
                self._missing = theme
                return
            self._transcript.notice(error.explain(), "warning")
            self._frame.tui.request_render()


MAX_FIRST_IDS = 0xF0_0000
"""Image ids have 24 bits; this leaves a million for the session."""


def system_clipboard(start: AppOptions, write: Callable[[str], None]) -> Clipboard:
    """Return the user's clipboard; ``write`` sends to the terminal."""
    from pi.base.processes import find_program  # deferred until something is copied

    return Clipboard(
        system=start.system,
        env=start.environ,
        find=lambda name: find_program(name, start.environ),
        run=runner(start.environ, start.cwd),
        write=write,
    )


def graphics_for(tui: TUI, environ: Mapping[str, str]) -> Graphics | None:
    """Return the graphics protocol of the terminal; ``None`` if it shows no images."""
    protocol = tui.capabilities.images
    if protocol is None:
        return None
    return Graphics(
        protocol,
        write=tui.terminal.write,
        has_placeholders=has_placeholders(tui.capabilities, environ),
        # Random, because other programs in the same window number their images, too.
        first_id=1 + int.from_bytes(os.urandom(3)) % MAX_FIRST_IDS,
        cell_size=lambda: (tui.negotiation.cell.width, tui.negotiation.cell.height),
    )

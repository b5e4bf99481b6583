"""The first frame: an editor that can be written in, before anything slow is loaded."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from pi.base.clock import Clock
from pi.base.records import replace
from pi.base.tasks import TaskScope
from pi.modes.interactive.composer.composer import Composer
from pi.modes.interactive.composer.prompt import TypingDetector
from pi.modes.interactive.startup import AppOptions, EarlySettings, early_settings, load_keys
from pi.modes.interactive.status.footer import Footer, FooterFacts, TransientNotice, short_folder
from pi.modes.interactive.theme import Theme
from pi.modes.interactive.theme_file import InvalidTheme
from pi.modes.interactive.theme_selector import ThemeSelector, built_in, follows_terminal, themes_in
from pi.tui.component import Area, Component
from pi.tui.containers import Container, Spacer
from pi.tui.input.actions import platform_of
from pi.tui.input.keymap import Keymap
from pi.tui.style import ColourDepth
from pi.tui.terminal import Capabilities, Terminal, detect
from pi.tui.tui import TUI

if TYPE_CHECKING:
    from pi.modes.interactive.fullscreen import Fullscreen


# The place of the editor, in which dialogs take turns.


class DialogSlot:
    """Draws the component that came last; ``focus`` gives the keys to it.

    ``resident`` is what is there when nobody asks anything: what is drawn, and who takes the keys.
    """

    def __init__(
        self, resident: Component, typist: Component, focus: Callable[[Component], None]
    ) -> None:
        self._resident = resident
        self._typist = typist
        self._focus = focus
        self._guests: list[Component] = []
        self._resting_rows = 0
        """How many rows the resident had when it was last seen."""
        self._width = self._rows = 0

    @property
    def is_taken(self) -> bool:
        """Whether somebody asks something."""
        return bool(self._guests)

    @property
    def children(self) -> tuple[Component, ...]:
        """Who is shown."""
        return (self._guests[-1] if self._guests else self._resident,)

    @property
    def transient_rows(self) -> int:
        """How many rows fewer there are when the guests have gone, or when the resident rests."""
        if self.is_taken:
            return max(self._rows - self._resting_rows, 0)
        rows: int = getattr(self._resident, "transient_rows", 0)
        return rows

    def areas_at(self, row: int) -> list[Area]:
        """Who is shown has all of it."""
        (shown,) = self.children
        return [Area(shown, 0, 0, self._width, self._rows)]

    def render(self, width: int) -> list[str]:
        """The rows of who is shown."""
        (shown,) = self.children
        rows = shown.render(width)
        self._width, self._rows = width, len(rows)
        if not self.is_taken:
            self._resting_rows = self._rows - self.transient_rows
        return rows

    def invalidate(self) -> None:
        """Draw anew next time."""
        self._resident.invalidate()
        for guest in self._guests:
            guest.invalidate()

    def push(self, guest: Component) -> None:
        """Show a component and give it the keys."""
        self._guests.append(guest)
        self._settle()

    def remove(self, guest: Component) -> None:
        """Take a component away; what was there before it comes back."""
        self._guests = [other for other in self._guests if other is not guest]
        self._settle()

    def clear(self) -> None:
        """Take all guests away."""
        self._guests.clear()
        self._settle()

    def _settle(self) -> None:
        self._focus(self._guests[-1] if self._guests else self._typist)


class AppLayout:
    """Everything that is on the screen from the first moment on."""

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
            on_disconnect=on_disconnect,
        )
        self.theme = Theme(built_in(self.tui.appearance.scheme), capabilities.colours)
        self.themes = self._new_themes(start, values)
        self.keymap = Keymap(platform=platform_of(start.system, start.environ))
        self.problems += load_keys(self.keymap, start.agent_dir)
        self.composer = self._new_composer(tasks, TypingDetector(start.clock), values)
        self.header = Container()
        """For what stands above the conversation."""
        self.above = Container(self.header)
        """For what comes later: the transcript."""
        self.above_editor, self.below_editor = Container(), Container()
        """For what others show beside the editor."""
        self.passing = TransientNotice(self.theme)
        self.footer = Footer(self.theme)
        self.footer.show(FooterFacts(cwd=short_folder(start.cwd, start.home), note="loading…"))
        self.bottom = Container(self.footer)
        """The footer, and what others show there."""
        self.slot = DialogSlot(self.composer.component, self.composer.prompt, self.tui.set_focus)
        self.fullscreen: Fullscreen | None = None
        """Only when the whole screen is ours."""
        self._put_together(values)
        self.tui.set_focus(self.composer.prompt)

    def _new_themes(self, start: AppOptions, values: EarlySettings) -> ThemeSelector:
        appearance = self.tui.appearance
        themes = ThemeSelector(
            self.theme,
            files=lambda: themes_in(start.agent_dir / "themes"),
            scheme=lambda: appearance.scheme,
            redraw=self.tui.reset_display,
        )
        with suppress(InvalidTheme):  # the session knows of more themes, and tells what is wrong
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


# Pressing a key twice, which means something else than pressing it once.


TWICE_SECONDS = 0.5
"""Within this time a second press counts as two."""


class DoublePressDetector:
    """Remembers when one key was pressed last."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last: float | None = None

    def is_second(self) -> bool:
        """Note a press; whether it makes two with the one before, which then counts no more."""
        now, last = self._clock.monotonic(), self._last
        is_second = last is not None and now - last <= TWICE_SECONDS
        self._last = None if is_second else now
        return is_second


# The keys that clear what is written, and that lead out: they work from the first frame on.


class QuitKeys:
    """Ctrl+C clears and leaves when pressed twice, Ctrl+D leaves where nothing is written.

    ``tell`` says something in passing.
    """

    def __init__(
        self,
        composer: Composer,
        keymap: Keymap,
        *,
        clock: Clock,
        tell: Callable[[str], None],
        quit: Callable[[], None],
    ) -> None:
        self._composer = composer
        self._keymap = keymap
        self._tell = tell
        self._quit = quit
        self._presses = DoublePressDetector(clock)

    def act(self, action: str) -> bool:
        """Do what an action says; whether it is one of these and meant something."""
        match action:
            case "app.clear":
                self._clear()
                return True
            case "app.exit" if not self._composer.text:
                self._quit()
                return True
        return False

    def _clear(self) -> None:
        if self._presses.is_second():
            self._quit()
        elif self._composer.text:
            self._composer.take()  # Up brings it back
        else:
            self._tell(f"Press {self._keymap.keys('app.clear')[0]} twice quickly to exit.")

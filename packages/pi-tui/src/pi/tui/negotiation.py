"""Queries to the terminal at start, its replies, and the modes to restore at the end.

Every query is followed by DA1, which all terminals answer: when its reply arrives, earlier queries
without a reply are unsupported. Each DA1 has an owner, in the order of the queries, so that replies
are never confused.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

from pi.tui.input import key_codes
from pi.tui.input.reports import (
    DEFAULT_CELL,
    CellSize,
    Colour,
    ColourScheme,
    DeviceAttributes,
    FocusReport,
    KittyFlags,
    ModeReport,
    PaletteColour,
    ProgramStatusSupport,
    Reply,
)
from pi.tui.screen.emitters import END_SYNC, HIDE_CURSOR, SHOW_CURSOR
from pi.tui.screen.rows import WRAP_ON
from pi.tui.terminal import Capabilities
from pi.tui.terminal_colours import ASK_COLOURS, ReportedColours

Scheme: TypeAlias = Literal["dark", "light"]


def scheme_of(background: Colour) -> Scheme:
    """Classifies a background colour by its perceived luminance."""
    luminance = 0.2126 * background.red + 0.7152 * background.green + 0.0722 * background.blue
    return "light" if luminance > 0.5 else "dark"


def scheme_from_environment(env: Mapping[str, str]) -> Scheme | None:
    """Return the scheme of ``COLORFGBG`` (``foreground;background`` as palette numbers)."""
    background = env.get("COLORFGBG", "").rpartition(";")[2]
    if not (background.isascii() and background.isdigit()):
        return None
    return "light" if int(background) == 7 or 9 <= int(background) <= 15 else "dark"


class ColourSchemeState:
    """Whether the terminal is dark or light, from the best known source.

    The sources in order: the terminal's report, its background colour, ``COLORFGBG``; otherwise
    dark.
    """

    def __init__(self, env: Mapping[str, str]) -> None:
        self.background: Colour | None = None
        self._reported: Scheme | None = None
        self._guessed = scheme_from_environment(env)
        self._listeners: list[Callable[[Scheme], None]] = []

    @property
    def scheme(self) -> Scheme:
        """Dark or light, as known so far."""
        if self._reported:
            return self._reported
        if self.background:
            return scheme_of(self.background)
        return self._guessed or "dark"

    def on_change(self, listener: Callable[[Scheme], None]) -> Callable[[], None]:
        """Subscribe to changes of ``scheme``. Returns an unsubscribe function."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def handle_reply(self, reply: Colour | ColourScheme) -> None:
        """Update the state from a reply."""
        before = self.scheme
        match reply:
            case ColourScheme(scheme=scheme):
                self._reported = scheme
            case Colour(slot="background"):
                self.background = reply
        if self.scheme != before:
            for listener in tuple(self._listeners):
                listener(self.scheme)


PASTE_ON, PASTE_OFF = "\x1b[?2004h", "\x1b[?2004l"
SCHEME_REPORTS_ON, SCHEME_REPORTS_OFF = "\x1b[?2031h", "\x1b[?2031l"
ASK_DA1 = "\x1b[c"
ASK_CELL_SIZE = "\x1b[16t"
ASK_BACKGROUND = "\x1b]11;?\x07"
ASK_SCHEME = "\x1b[?996n"
ASK_SYNC = "\x1b[?2026$p"
FOCUS_REPORTS_ON, FOCUS_REPORTS_OFF = "\x1b[?1004h", "\x1b[?1004l"
ASK_FOCUS_REPORTS = "\x1b[?1004$p"


class Negotiation:
    """Queries and modes of one terminal.

    ``write`` sends to it. ``follow_scheme`` queries the colour scheme and subscribes to its
    changes, which only an adaptive theme needs.
    """

    def __init__(
        self,
        capabilities: Capabilities,
        appearance: ColourSchemeState,
        *,
        write: Callable[[str], None],
        follow_scheme: bool = False,
        colours: ReportedColours | None = None,
    ) -> None:
        self.cell = DEFAULT_CELL
        self.synchronized = capabilities.synchronized
        self.keyboard = "legacy"
        """``kitty``, ``modify-other-keys`` or ``legacy``."""
        self.has_focus: bool | None = None
        """Whether the terminal's window has the focus; None if unknown."""
        self.on_program_status: Callable[[], None] = lambda: None
        """Called if the terminal shows the status of programs."""
        self._capabilities = capabilities
        self._appearance = appearance
        self._write = write
        self._follow_scheme = follow_scheme
        self._colours = colours or ReportedColours()
        self._follows_colours = False
        self._has_reported_scheme = False
        self._follows_focus = False
        self._reports_modes = False
        """Whether the terminal answers mode queries. Some terminals print them instead."""
        self._owners: deque[Callable[[], None]] = deque()

    def begin(self) -> None:
        """Enable the required modes and send the queries."""
        self._owners.clear()
        self.keyboard = "legacy"
        parts = [
            PASTE_ON,
            key_codes.PUSH,
            key_codes.QUERY,
            self._query(self._without_kitty),
            HIDE_CURSOR,
        ]
        if self._capabilities.images:
            parts.append(ASK_CELL_SIZE)
        if self._follow_scheme:
            parts += [ASK_SCHEME, SCHEME_REPORTS_ON]
        parts.append(ASK_BACKGROUND)
        if not self._capabilities.synchronized_is_fixed:
            parts.append(ASK_SYNC)
        if self._follows_focus:
            parts.append(FOCUS_REPORTS_ON)
        if self._follows_colours:
            parts.append(self._colour_queries())
        self._write("".join(parts))

    def ending(self, *, leave_window: str) -> str:
        """Return the sequences that restore all modes, with ``leave_window`` among them.

        ``leave_window`` moves the cursor out of the window.
        """
        other_keys = key_codes.MODIFY_OTHER_KEYS_OFF if self.keyboard == "modify-other-keys" else ""
        sync = END_SYNC if self.synchronized else ""
        reports = SCHEME_REPORTS_OFF if self._follow_scheme else ""
        reports += FOCUS_REPORTS_OFF if self._follows_focus else ""
        modes = SHOW_CURSOR + PASTE_OFF + reports
        return f"{sync}{WRAP_ON}{key_codes.POP}{other_keys}{leave_window}{modes}"

    def follow_focus(self) -> None:
        """Enable focus reports.

        Call it while the user types: the terminal reports only changes, so the window must have the
        focus at that time.
        """
        if not self._follows_focus:
            self._follows_focus = True
            self._write(FOCUS_REPORTS_ON + (ASK_FOCUS_REPORTS if self._reports_modes else ""))

    def follow_colours(self, *, at_once: bool) -> None:
        """Query the colours of the terminal, and again whenever it reports a change.

        With ``at_once`` the queries are sent now, otherwise by ``begin``.
        """
        if self._follows_colours:
            return
        self._follows_colours = True
        if at_once:
            reports = "" if self._follow_scheme else SCHEME_REPORTS_ON
            self._follow_scheme = True
            self._write(reports + self._colour_queries())

    def _colour_queries(self) -> str:
        return ASK_COLOURS + self._query(self._colours.complete)

    def query_background(self, done: Callable[[], None]) -> None:
        """Query the background again; calls ``done`` when the reply arrived or is unsupported."""
        self._write(ASK_BACKGROUND + self._query(done))

    def when_processed(self, done: Callable[[], None]) -> None:
        """Call ``done`` when the terminal has processed everything written so far."""
        self._write(self._query(done))

    def handle_reply(self, reply: Reply) -> None:
        """Handle a reply."""
        self._reports_modes = self._reports_modes or isinstance(reply, ModeReport)
        match reply:
            case KittyFlags():
                self._with_kitty()
            case DeviceAttributes() if self._owners:
                self._owners.popleft()()
            case ModeReport(mode=2026, state=state) if not self._capabilities.synchronized_is_fixed:
                self.synchronized = state in (1, 2)
            case ModeReport(mode=1004, state=state) if state in (1, 3) and self.has_focus is None:
                # A multiplexer supports the mode, but reports the focus only if it is configured
                # to.
                self.has_focus = None if self._capabilities.multiplexer else True
            case ProgramStatusSupport():
                self.on_program_status()
            case FocusReport(gained=gained):
                self.has_focus = gained
            case CellSize(width=width, height=height) if width > 0 and height > 0:
                self.cell = reply
            case PaletteColour() | Colour() | ColourScheme():
                self._handle_colour(reply)

    def _handle_colour(self, reply: PaletteColour | Colour | ColourScheme) -> None:
        if not isinstance(reply, ColourScheme):
            self._colours.handle_reply(reply)
        if not isinstance(reply, PaletteColour):
            self._appearance.handle_reply(reply)
        if isinstance(reply, ColourScheme):
            # The first report is an answer, later ones are changes.
            if self._follows_colours and self._has_reported_scheme:
                self._write(self._colour_queries())
            self._has_reported_scheme = True

    def _query(self, owner: Callable[[], None]) -> str:
        self._owners.append(owner)
        return ASK_DA1

    def _with_kitty(self) -> None:
        if self.keyboard == "modify-other-keys":
            self._write(key_codes.MODIFY_OTHER_KEYS_OFF)
        self.keyboard = "kitty"

    def _without_kitty(self) -> None:
        if self.keyboard == "legacy" and self._capabilities.modify_other_keys:
            self.keyboard = "modify-other-keys"
            self._write(key_codes.MODIFY_OTHER_KEYS)

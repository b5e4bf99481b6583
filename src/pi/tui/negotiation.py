"""What is asked of a terminal at the start, made of its answers, and taken back at the end.

Queries are followed by DA1, which every terminal answers: when its answer comes, what was asked
before and is still unanswered will stay so. Each DA1 has an owner, in the order of asking, so that
the answer for one question is never taken for another's.
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
    Reply,
)
from pi.tui.screen.rows import WRAP_ON
from pi.tui.screen.screen import END_SYNC, HIDE_CURSOR, SHOW_CURSOR
from pi.tui.terminal import Capabilities

# Whether the terminal is dark or light: asked, told, or guessed from the environment.


Scheme: TypeAlias = Literal["dark", "light"]


def scheme_of(background: Colour) -> Scheme:
    """What a background colour looks like, by its luminance as the eye sees it."""
    luminance = 0.2126 * background.red + 0.7152 * background.green + 0.0722 * background.blue
    return "light" if luminance > 0.5 else "dark"


def scheme_from_environment(env: Mapping[str, str]) -> Scheme | None:
    """What ``COLORFGBG`` (``foreground;background`` as palette numbers) says, if it is set."""
    background = env.get("COLORFGBG", "").rpartition(";")[2]
    if not (background.isascii() and background.isdigit()):
        return None
    return "light" if int(background) == 7 or 9 <= int(background) <= 15 else "dark"


class ColourSchemeState:
    """What is known about the terminal's colours, best source first.

    The terminal's own word on dark or light, then its background colour, then ``COLORFGBG``, then
    dark.
    """

    def __init__(self, env: Mapping[str, str]) -> None:
        self.background: Colour | None = None
        self._reported: Scheme | None = None
        self._guessed = scheme_from_environment(env)
        self._listeners: list[Callable[[Scheme], None]] = []

    @property
    def scheme(self) -> Scheme:
        """Dark or light, as far as is known now."""
        if self._reported:
            return self._reported
        if self.background:
            return scheme_of(self.background)
        return self._guessed or "dark"

    def on_change(self, listener: Callable[[Scheme], None]) -> Callable[[], None]:
        """Be told when ``scheme`` changes; returns what ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def take(self, reply: Colour | ColourScheme) -> None:
        """Learn from what the terminal said."""
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
    """The conversation with one terminal.

    ``write`` sends to it. ``follow_scheme`` asks for dark and light and for word of changes, which
    only a theme that adapts needs.
    """

    def __init__(
        self,
        capabilities: Capabilities,
        appearance: ColourSchemeState,
        *,
        write: Callable[[str], None],
        follow_scheme: bool = False,
    ) -> None:
        self.cell = DEFAULT_CELL
        self.synchronized = capabilities.synchronized
        self.keyboard = "legacy"
        """``kitty``, ``modify-other-keys`` or ``legacy``."""
        self.has_focus: bool | None = None
        """Whether the terminal's window has the keyboard; None if it does not tell."""
        self._capabilities = capabilities
        self._appearance = appearance
        self._write = write
        self._follow_scheme = follow_scheme
        self._follows_focus = False
        self._reports_modes = False
        """Whether it answers questions about modes; some terminals would print them."""
        self._owners: deque[Callable[[], None]] = deque()

    def begin(self) -> None:
        """Switch on what is needed and ask what is unknown."""
        self._owners.clear()
        self.keyboard = "legacy"
        parts = [
            PASTE_ON,
            key_codes.PUSH,
            key_codes.QUERY,
            self._ask(self._without_kitty),
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
        self._write("".join(parts))

    def ending(self, *, leave_window: str) -> str:
        """What takes everything back; ``leave_window`` moves the cursor out of the window."""
        other_keys = key_codes.MODIFY_OTHER_KEYS_OFF if self.keyboard == "modify-other-keys" else ""
        sync = END_SYNC if self.synchronized else ""
        reports = SCHEME_REPORTS_OFF if self._follow_scheme else ""
        reports += FOCUS_REPORTS_OFF if self._follows_focus else ""
        modes = SHOW_CURSOR + PASTE_OFF + reports
        return f"{sync}{WRAP_ON}{key_codes.POP}{other_keys}{leave_window}{modes}"

    def follow_focus(self) -> None:
        """Have the terminal tell from now on when its window gets and loses the keyboard.

        To be called while somebody types: what has the keyboard says nothing until it loses it.
        """
        if not self._follows_focus:
            self._follows_focus = True
            self._write(FOCUS_REPORTS_ON + (ASK_FOCUS_REPORTS if self._reports_modes else ""))

    def ask_background(self, done: Callable[[], None]) -> None:
        """Ask for the background again; ``done`` when it is known or will not be."""
        self._write(ASK_BACKGROUND + self._ask(done))

    def when_taken(self, done: Callable[[], None]) -> None:
        """Call ``done`` when the terminal has taken everything that was written so far."""
        self._write(self._ask(done))

    def take(self, reply: Reply) -> None:
        """Learn from an answer."""
        self._reports_modes = self._reports_modes or isinstance(reply, ModeReport)
        match reply:
            case KittyFlags():
                self._with_kitty()
            case DeviceAttributes() if self._owners:
                self._owners.popleft()()
            case ModeReport(mode=2026, state=state) if not self._capabilities.synchronized_is_fixed:
                self.synchronized = state in (1, 2)
            case ModeReport(mode=1004, state=state) if state in (1, 3) and self.has_focus is None:
                # A multiplexer knows the mode, but passes on what it hears only to who wants that.
                self.has_focus = None if self._capabilities.multiplexer else True
            case FocusReport(gained=gained):
                self.has_focus = gained
            case CellSize(width=width, height=height) if width > 0 and height > 0:
                self.cell = reply
            case Colour() | ColourScheme():
                self._appearance.take(reply)

    def _ask(self, owner: Callable[[], None]) -> str:
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

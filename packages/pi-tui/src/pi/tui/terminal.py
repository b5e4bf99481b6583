"""The terminal protocols, and capabilities and timeouts derived from the environment.

The environment selects only optimisations and decorations, so that a wrong guess is cosmetic. The
treatment of history does not depend on it, except for multiplexers, whose history cannot be
rewritten.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, Protocol, TypeAlias

from pi.base.records import Record
from pi.tui.style import ColourDepth


class Timer(Protocol):
    """A scheduled call."""

    def cancel(self) -> None:
        """Cancel the call."""
        ...


class Timers(Protocol):
    """The timers of an asyncio event loop."""

    def time(self) -> float:
        """Return monotonic seconds."""
        ...

    def call_later(self, delay: float, callback: Callable[[], object]) -> Timer:
        """Call back once after ``delay`` seconds.

        Input that has arrived by then is handled first: an asyncio loop runs socket callbacks
        before timers that are due.
        """
        ...


class Size(Record):
    """A size in character cells."""

    columns: int
    rows: int


class Listener(Record, kw_only=False):
    """Callbacks for terminal events."""

    on_input: Callable[[bytes], None]
    """Bytes arrived, split at any position."""
    on_resize: Callable[[], None]
    """The size may have changed."""
    on_resume: Callable[[], None]
    """The process was stopped and continues; the terminal may show anything."""
    on_disconnect: Callable[[], None]
    """The terminal is gone; nothing that is written will be seen."""


class Terminal(Protocol):
    """A terminal: output, input and size."""

    @property
    def size(self) -> Size:
        """The current size."""
        ...

    @property
    def backlog(self) -> int:
        """Characters that were written but not taken yet. No frames should be written meanwhile."""
        ...

    def start(self, listener: Listener, *, restore: Callable[[], str]) -> None:
        """Start to deliver input. ``restore()`` is written before the program ends in any way."""
        ...

    def write(self, data: str) -> None:
        """Send characters without blocking."""
        ...

    def stop(self) -> None:
        """Flush the output and restore the terminal."""
        ...

    def suspend(self) -> None:
        """Restore the terminal and stop the process until it is continued."""
        ...


OVER_SSH = ("SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY")


class Timing(Record):
    """Seconds to wait for the rest of incomplete input."""

    escape: float = 0.010
    """After a lone ESC, which is the Escape key or the start of a sequence."""
    introducer: float = 0.050
    """After ``ESC [`` and similar introducers, which are Alt+[ if nothing follows."""
    fragment: float = 1.5
    """After a longer incomplete sequence. No key sends it, so it is dropped. Replies have been seen
    whose parts were a second apart."""
    paste: float = 1.0
    """After the last part of a paste without its end."""


def timing(env: Mapping[str, str]) -> Timing:
    """Return the timeouts: ``PI_TUI_ESC_TIMEOUT`` in milliseconds, and longer ones over SSH."""
    escape = Timing().escape
    if any(env.get(name) for name in OVER_SSH):
        escape = 0.100
    milliseconds = env.get("PI_TUI_ESC_TIMEOUT", "")
    if milliseconds.isascii() and milliseconds.isdigit():
        escape = int(milliseconds) / 1000
    return Timing(escape=escape, introducer=max(Timing().introducer, escape))


Environment: TypeAlias = Mapping[str, str]
Brand: TypeAlias = Literal[
    "kitty", "ghostty", "wezterm", "warp", "iterm2", "vscode", "zed", "windows-terminal",
    "jetbrains", "apple-terminal", "alacritty", "foot", "unknown",
]  # fmt: skip
ImageProtocol: TypeAlias = Literal["kitty", "iterm2", "sixel"]

_BY_VARIABLE: tuple[tuple[str, Brand], ...] = (
    ("KITTY_WINDOW_ID", "kitty"),
    ("GHOSTTY_RESOURCES_DIR", "ghostty"),
    ("WEZTERM_PANE", "wezterm"),
    ("ITERM_SESSION_ID", "iterm2"),
    ("WT_SESSION", "windows-terminal"),
    ("ALACRITTY_WINDOW_ID", "alacritty"),
)
_BY_PROGRAM: dict[str, Brand] = {
    "kitty": "kitty",
    "ghostty": "ghostty",
    "wezterm": "wezterm",
    "warpterminal": "warp",
    "iterm.app": "iterm2",
    "vscode": "vscode",
    "zed": "zed",
    "apple_terminal": "apple-terminal",
    "alacritty": "alacritty",
}
_BY_TERM: tuple[tuple[str, Brand], ...] = (
    ("xterm-kitty", "kitty"),
    ("xterm-ghostty", "ghostty"),
    ("wezterm", "wezterm"),
    ("alacritty", "alacritty"),
    ("foot", "foot"),
)

_KITTY_IMAGES: frozenset[Brand] = frozenset({"kitty", "ghostty", "wezterm", "warp"})
_HYPERLINKS: frozenset[Brand] = frozenset(
    {*_KITTY_IMAGES, "iterm2", "vscode", "zed", "windows-terminal"}
)
_TRUE_COLOUR: frozenset[Brand] = frozenset({*_HYPERLINKS, "jetbrains", "alacritty", "foot"})
_SYNCHRONIZED: frozenset[Brand] = frozenset(
    {"kitty", "ghostty", "wezterm", "iterm2", "windows-terminal", "alacritty", "foot"}
)

_OLD_TERMS = frozenset({"linux", "ansi", "vt100", "vt220", "cons25"})
_FEW_COLOURS = ("-color", "-16color", "-88color")
"""Suffixes of ``TERM`` with fewer than 256 colours."""
_PANES = ("TMUX", "STY", "ZELLIJ", "CMUX_WORKSPACE_ID", "CMUX_SURFACE_ID")
_MULTIPLEXER_TERMS = ("tmux", "screen")

_OFF = frozenset({"0", "false", "off", "no", "none"})
_ON = frozenset({"1", "true", "on", "yes"})


class Capabilities(Record):
    """The features of a terminal that can be used."""

    brand: Brand = "unknown"
    multiplexer: bool = False
    """Whether tmux, screen, zellij or similar is in between; it keeps its own history."""
    colours: ColourDepth = ColourDepth.PALETTE
    hyperlinks: bool = False
    images: ImageProtocol | None = None
    synchronized: bool = False
    """Whether writes are bracketed. The terminal's reply changes it, unless it is fixed."""
    synchronized_is_fixed: bool = False
    notifications: bool = True
    hardware_cursor: bool = False
    modify_other_keys: bool = True
    """Whether to request xterm's key encoding if Kitty's is not supported."""


def detect(env: Environment) -> Capabilities:
    """Derive the capabilities from the environment."""
    brand, multiplexer = _brand(env), is_multiplexer(env)
    hyperlinks = _switch(env.get("PI_HYPERLINKS", ""))
    synchronized = _sync_override(env)
    return Capabilities(
        brand=brand,
        multiplexer=multiplexer,
        colours=_colours(env, brand, multiplexer=multiplexer),
        hyperlinks=brand in _HYPERLINKS and not multiplexer if hyperlinks is None else hyperlinks,
        images=_images(env, brand, multiplexer=multiplexer),
        synchronized=_default_sync(env, brand, multiplexer=multiplexer)
        if synchronized is None
        else synchronized,
        synchronized_is_fixed=synchronized is not None,
        notifications=_switch(env.get("PI_NOTIFICATIONS", "")) is not False,
        hardware_cursor=_switch(env.get("PI_HARDWARE_CURSOR", "")) is True,
        modify_other_keys=_supports_other_keys(env),
    )


def is_multiplexer(env: Environment) -> bool:
    """Return whether the terminal is a pane, by its variables or (SSH, sudo) by ``TERM``."""
    term = env.get("TERM", "")
    return any(env.get(name) for name in _PANES) or term.startswith(_MULTIPLEXER_TERMS)


def _brand(env: Environment) -> Brand:
    program = env.get("TERM_PROGRAM", "").lower()
    if program in _BY_PROGRAM:
        return _BY_PROGRAM[program]
    if env.get("TERMINAL_EMULATOR") == "JetBrains-JediTerm":
        return "jetbrains"
    for name, brand in _BY_VARIABLE:
        if env.get(name):
            return brand
    term = env.get("TERM", "")
    return next((brand for start, brand in _BY_TERM if term.startswith(start)), "unknown")


def _colours(env: Environment, brand: Brand, *, multiplexer: bool) -> ColourDepth:
    term = env.get("TERM", "")
    if env.get("NO_COLOR") or term == "dumb":
        return ColourDepth.NONE
    forced = _switch(env.get("PI_TRUE_COLOR", ""))
    if forced is not None:
        return ColourDepth.TRUE if forced else ColourDepth.PALETTE
    # These two show true colours incorrectly, whatever COLORTERM is.
    is_limited = brand == "apple-terminal" or (term.startswith("screen") and not env.get("TMUX"))
    declares_true_colour = env.get("COLORTERM", "").lower() in ("truecolor", "24bit")
    if not is_limited and (declares_true_colour or (brand in _TRUE_COLOUR and not multiplexer)):
        return ColourDepth.TRUE
    has_few = term in _OLD_TERMS or term.endswith(_FEW_COLOURS)
    return ColourDepth.BASIC if has_few else ColourDepth.PALETTE


def _images(env: Environment, brand: Brand, *, multiplexer: bool) -> ImageProtocol | None:
    forced = env.get("PI_FORCE_IMAGE_PROTOCOL") or env.get("PI_IMAGE_PROTOCOL") or ""
    match forced.lower():
        case "kitty" | "iterm2" | "sixel" as protocol:
            return protocol
        case "iterm":
            return "iterm2"
        case off if off in _OFF:
            return None
    if multiplexer:
        return None
    if brand in _KITTY_IMAGES:
        return "kitty"
    return "iterm2" if brand == "iterm2" else None


def _sync_override(env: Environment) -> bool | None:
    """Return the user's setting for synchronized output, if any."""
    choice = _switch(env.get("PI_TUI_SYNC_OUTPUT", ""))
    # Unlike the other switches, any value turns it off, even "0", as in other programs.
    if env.get("PI_NO_SYNC_OUTPUT") or choice is False:
        return False
    return True if _switch(env.get("PI_FORCE_SYNC_OUTPUT", "")) or choice else None


def _default_sync(env: Environment, brand: Brand, *, multiplexer: bool) -> bool:
    if "Sy" in env.get("TERM_FEATURES", ""):
        return True
    return brand in _SYNCHRONIZED and not multiplexer


def _supports_other_keys(env: Environment) -> bool:
    """Return False for an unknown terminal over SSH, which may print the request."""
    term = env.get("TERM", "")
    is_remote = any(env.get(name) for name in OVER_SSH)
    supported_terms = ("xterm", "tmux", "screen", "alacritty", "foot", "rxvt", "wezterm", "ghostty")
    return not is_remote or term.startswith(supported_terms)


def _switch(text: str) -> bool | None:
    if text.lower() in _ON:
        return True
    return False if text.lower() in _OFF else None


_WITH_PLACEHOLDERS = frozenset({"kitty", "ghostty"})


def has_placeholders(capabilities: Capabilities, env: Mapping[str, str]) -> bool:
    """Return whether images can be shown as placeholder characters, which scroll like text."""
    if capabilities.images != "kitty" or env.get("PI_NO_KITTY_PLACEHOLDERS") == "1":
        return False
    return capabilities.brand in _WITH_PLACEHOLDERS or env.get("PI_KITTY_PLACEHOLDERS") == "1"

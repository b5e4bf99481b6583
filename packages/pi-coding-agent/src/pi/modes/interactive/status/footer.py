"""The footer below the editor: folder, usage and model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pi.base.records import Record, replace
from pi.base.terminal_text import one_line
from pi.coding.port.drawing import FooterPart
from pi.modes.interactive.theme import Theme
from pi.tui.containers import CachedWidget
from pi.tui.text.width import slice_columns, truncate_to_width, visible_width

NEARLY_FULL = 70.0
FULL = 90.0
"""Context usage in percent from which it is highlighted."""

_BETWEEN = " · "
_EXPENDABLE = ("manual", "cached", "out", "in", "context", "cost")
"""Facts omitted for the model's name where there is little room, in this order.

``context`` loses its word only.
"""


_MODE_COLOURS = {
    "off": "dim",
    "ask": "success",
    "ask-all": "success",
    "auto-edit": "warning",
    "plan": "accent",
    "read-only": "accent",
}
BETWEEN_MODES = " · "
_MODE_SHARE = 3
"""Part of the first row that the permission mode and its key may have."""


class FooterFacts(Record):
    """The data of the footer. Zero values are not shown."""

    cwd: str = ""
    branch: str = ""
    session_name: str = ""
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    hit_percent: float | None = None
    """Share of the last request's input that came from a cache."""
    cost: float = 0.0
    context_percent: float | None = None
    context_window: int = 0
    is_automatic: bool = False
    """Whether automatic compaction is on."""
    provider: str = ""
    model: str = ""
    level: str = ""
    """The thinking level; empty if unsupported."""
    note: str = ""
    """Shown while there is no model."""
    permissions: str = ""
    """The permission mode, ``plan``, or both; empty if permissions were never used."""
    approval: str = ""
    """What rows of extensions show as the permission mode."""


class Footer(CachedWidget):
    """Two rows: folder, branch, session name and permission mode; usage and model."""

    def __init__(self, theme: Theme, *, mode_key: Callable[[], str] = lambda: "") -> None:
        self._theme = theme
        self._mode_key = mode_key
        """The key that changes the permission mode."""
        self._facts = FooterFacts()
        self.replaced: Callable[[], frozenset[FooterPart]] = frozenset
        """Returns the parts that rows below the footer show instead."""

    @property
    def facts(self) -> FooterFacts:
        """The facts."""
        return self._facts

    def show(self, facts: FooterFacts) -> None:
        """Set the facts."""
        if facts != self._facts:
            self._facts = facts
            self.invalidate()

    def _cache_key(self) -> object:
        return self.replaced()

    def _draw(self, width: int) -> list[str]:
        replaced = self.replaced()
        facts = _without(self._facts, replaced)
        rows = [self._first(facts, width), self._second(facts, width)]
        return [row for row in rows if row] if replaced else rows

    def _first(self, facts: FooterFacts, width: int) -> str:
        """The folder on the left, the permission mode on the right, with its key if it fits."""
        dim = self._theme.paint("dim")
        mode = one_line(facts.permissions)
        changes = mode not in ("", "plan")  # plan mode has a key of its own
        key = f" ({self._mode_key()})" if changes and self._mode_key() else ""
        if len(key) + len(mode) > width // _MODE_SHARE:
            key = ""
        folder_width = max(width - visible_width(mode + key) - 2, 1) if mode else width
        location = truncate_to_width(_location(facts, folder_width), folder_width, "…")
        folder = dim(location) if location else ""
        if not mode:
            return folder
        painted = (
            self._theme.paint(_MODE_COLOURS.get(name, "warning"))(name)
            for name in mode.split(BETWEEN_MODES)
        )
        right = dim(BETWEEN_MODES).join(painted) + dim(key)
        return _spread(folder, right, width)

    def _second(self, facts: FooterFacts, width: int) -> str:
        """Numbers on the left, the model on the right; as much as fits."""
        numbers = self._numbers()
        names = _model(facts), _model(facts, with_provider=False)
        left = right = ""
        for name in ("", *_EXPENDABLE):
            numbers.pop(name, None)
            parts = [
                text for key, text in numbers.items() if key != "%" or "context" not in numbers
            ]
            left = self._theme.paint("dim")(_BETWEEN).join(parts)
            right_width = width - (visible_width(left) + 2 if left else 0)
            right = next((name for name in names if visible_width(name) <= right_width), names[1])
            if visible_width(right) <= right_width:
                break
        return _spread(left, self._theme.paint("dim")(right) if right else "", width)

    def _numbers(self) -> dict[str, str]:
        """Return the facts about tokens and cost by name, each with the word that explains it."""
        facts, dim = self._facts, self._theme.paint("dim")
        parts: dict[str, str] = {}
        if facts.input or facts.cache_read or facts.cache_write:
            everything = facts.input + facts.cache_read + facts.cache_write
            parts["in"] = f"{short_number(everything)} in"
        if facts.output:
            parts["out"] = f"{short_number(facts.output)} out"
        if facts.hit_percent is not None:
            parts["cached"] = f"{facts.hit_percent:.0f}% cached"
        if facts.cost:
            parts["cost"] = f"${facts.cost:.3f}"
        return {name: dim(text) for name, text in parts.items()} | self._context()

    def _context(self) -> dict[str, str]:
        facts = self._facts
        if not facts.context_window:
            return {}
        percent = "?" if facts.context_percent is None else f"{facts.context_percent:.0f}"
        paint = self._theme.paint(_urgency(facts.context_percent or 0.0))
        filled = f"{percent}% of {short_number(facts.context_window)}"
        parts = {"context": paint(f"context {filled}"), "%": paint(filled)}
        return parts | ({} if facts.is_automatic else {"manual": paint("no auto-compact")})


def short_number(number: int) -> str:
    """``950``, ``1.2k``, ``12k``, ``1.5M``."""
    if number < 1000:
        return str(number)
    if number < 10_000:
        return f"{number / 1000:.1f}k"
    if number < 1_000_000:
        return f"{round(number / 1000)}k"
    return f"{number / 1_000_000:.1f}M"


def short_folder(cwd: Path, home: Path) -> str:
    """A folder with ``~``."""
    try:
        below = cwd.relative_to(home).as_posix()
    except ValueError:
        return str(cwd)
    return "~" if below == "." else f"~/{below}"


def _urgency(percent: float) -> str:
    if percent > FULL:
        return "error"
    return "warning" if percent > NEARLY_FULL else "dim"


def _without(facts: FooterFacts, parts: frozenset[FooterPart]) -> FooterFacts:
    """The facts that no row below the footer shows."""
    if "folder" in parts:
        facts = replace(facts, cwd="")
    if "branch" in parts:
        facts = replace(facts, branch="")
    if "thinking" in parts:
        facts = replace(facts, level="")
    if "model" in parts and facts.model:
        facts = replace(facts, model="", provider="")
    if "permissions" in parts and facts.permissions == facts.approval:
        facts = replace(facts, permissions="")
    return facts


def _location(facts: FooterFacts, width: int) -> str:
    """The folder, the branch and the name; a long folder is truncated at its start."""
    parts = [f"({one_line(facts.branch)})"] if facts.branch else []
    if facts.session_name:
        bullet = "• " if facts.cwd or parts else ""
        parts.append(f"{bullet}{one_line(facts.session_name)}")
    rest = (" " if facts.cwd and parts else "") + " ".join(parts)
    folder_width = max(width - visible_width(rest), width // 3, 2)
    folder = one_line(facts.cwd)
    left_out = visible_width(folder) - folder_width
    if left_out <= 0:
        return folder + rest
    return "…" + slice_columns(folder, left_out + 1, folder_width - 1) + rest


def _model(facts: FooterFacts, *, with_provider: bool = True) -> str:
    if not facts.model:
        return one_line(facts.note or facts.level)
    level = f" • {facts.level}" if facts.level else ""
    provider = f"({facts.provider}) " if with_provider else ""
    return one_line(f"{provider}{facts.model}{level}")  # a server can use any names


def _spread(left: str, right: str, width: int) -> str:
    """Both ends of a line; the right end is truncated first."""
    gap = width - visible_width(left) - visible_width(right)
    if gap >= 2 or (not left and gap >= 0):
        return left + " " * gap + right
    right_width = width - visible_width(left) - 2
    if right_width < 8:
        return truncate_to_width(left, width, "…")
    return f"{left}  {truncate_to_width(right, right_width, '…')}"

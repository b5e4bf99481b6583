"""Line 2: the state it shows, the catalogue of items, and their layout for a width. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Literal, TypeAlias

from pi.extension import FooterPart, Record, sanitise_keeping_style


class GitState(Record):
    """The repository; empty outside of one."""

    branch: str = ""
    """``detached`` if HEAD is not on a branch."""
    added: int | None = None
    """Changed lines since the last commit; ``None`` until they are counted."""
    removed: int | None = None


class ContextWindow(Record):
    """Usage of the model's context window."""

    size: int
    used_percent: float | None = None
    """``None`` after a compaction, until the next answer."""


class StatusEngineState(Record):
    """A snapshot of everything that lines 2 and 3 can show. Empty values are not shown."""

    session_id: str = ""
    transcript_path: str = ""
    """The session file; empty if the session is in memory."""
    cwd: str = ""
    model: str = ""
    model_name: str = ""
    effort: str = ""
    """The thinking level; empty if the model does not support thinking."""
    sandbox: str = ""
    approval: str = ""
    git: GitState = GitState()
    since_session_ms: int = 0
    """Monotonic; restarts with every session."""
    cost_usd: float = 0.0
    context: ContextWindow | None = None

    @property
    def workspace_name(self) -> str:
        """The last part of the working directory."""
        return PurePath(self.cwd).name or self.cwd


StatusItem: TypeAlias = Literal[
    "model",
    "effort",
    "workspace_name",
    "git_branch",
    "git_counts",
    "sandbox",
    "approval",
    "duration",
]

DEFAULT_ITEMS: tuple[StatusItem, ...] = (
    "model",
    "effort",
    "workspace_name",
    "git_branch",
    "git_counts",
    "sandbox",
    "approval",
)


FOOTER_PARTS: Mapping[StatusItem, FooterPart] = {
    "model": "model",
    "effort": "thinking",
    "workspace_name": "folder",
    "git_branch": "branch",
    "approval": "permissions",
}
"""The parts of the footer that show the same as an item; they are left out there."""


def _counts(state: StatusEngineState) -> str:
    if state.git.added is None or state.git.removed is None:
        return ""
    return f"+{state.git.added} -{state.git.removed}"


def _duration(state: StatusEngineState) -> str:
    minutes, seconds = divmod(state.since_session_ms // 1000, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h {minutes:02}m"
    return f"{minutes}m {seconds:02}s" if minutes else f"{seconds}s"


CATALOGUE: Mapping[StatusItem, Callable[[StatusEngineState], str]] = {
    "model": lambda state: state.model,
    "effort": lambda state: state.effort,
    "workspace_name": lambda state: state.workspace_name,
    "git_branch": lambda state: state.git.branch,
    "git_counts": _counts,
    "sandbox": lambda state: state.sandbox,
    "approval": lambda state: state.approval,
    "duration": _duration,
}
"""The text of each item; an empty text is left out."""


ELLIPSIS = "…"


def _printable(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _characters(text: str, start: int, width: int) -> str:
    return text[start : start + width]


def styled_line(text: str) -> str:
    """Return the first line of ``text`` with its colours; other control sequences are removed."""
    return sanitise_keeping_style(text).partition("\n")[0].rstrip()


class TextMetrics(Record):
    """Functions that measure and cut text. By default every character is one column, unstyled."""

    width: Callable[[str], int] = len
    cut: Callable[[str, int, int], str] = _characters
    """Return ``count`` columns of a text from a start column."""
    plain: Callable[[str], str] = _printable
    """Sanitise to one line of plain text."""
    styled: Callable[[str], str] = _printable
    """Sanitise to one line, keeping colours."""

    def centred(self, text: str, width: int) -> str:
        """Fit ``text`` into ``width`` columns, with an ellipsis in the middle if it is longer."""
        text_width = self.width(text)
        if text_width <= width:
            return text
        if width < 3:
            return self.fitted(text, width)
        right = (width - 1) // 2
        start_width = width - 1 - right
        return self.cut(text, 0, start_width) + ELLIPSIS + self.cut(text, text_width - right, right)

    def fitted(self, text: str, width: int) -> str:
        """Fit ``text`` into ``width`` columns, with an ellipsis at the end if it is longer."""
        if self.width(text) <= width:
            return text
        return self.cut(text, 0, width - 1) + ELLIPSIS if width > 0 else ""


SEPARATOR = " | "
ELASTIC: tuple[StatusItem, ...] = ("git_branch", "workspace_name", "model")
"""Items that are shortened if the line is too wide, in this order."""
MIN_COLUMNS = 8
"""Minimum columns of a shortened item; less is not recognisable."""


def compose(
    items: Sequence[StatusItem], state: StatusEngineState, width: int, text: TextMetrics
) -> str:
    """Join the non-empty items in at most ``width`` columns."""
    lines = {item: line for item in items if (line := text.plain(CATALOGUE[item](state)))}
    for item in ELASTIC:
        excess = text.width(_join_items(lines)) - width
        if excess > 0 and item in lines:
            max_width = max(text.width(lines[item]) - excess, MIN_COLUMNS)
            lines[item] = text.centred(lines[item], max_width)
    if text.width(_join_items(lines)) > width and "approval" in lines:
        return _with_mode(lines, width, text)
    return text.fitted(_join_items(lines), width)


def _with_mode(lines: dict[StatusItem, str], width: int, text: TextMetrics) -> str:
    """Return the permission mode behind as many of the other items as fit.

    The footer leaves the mode out because it is in this line.
    """
    mode = lines.pop("approval")
    while lines and text.width(_join_items(lines) + SEPARATOR + mode) > width:
        lines.popitem()
    return _join_items(lines) + SEPARATOR + mode if lines else text.fitted(mode, width)


def _join_items(lines: Mapping[StatusItem, str]) -> str:
    line, before = "", ""
    for item, text in lines.items():
        if line:  # the counts belong to the branch before them
            line += " " if (before, item) == ("git_branch", "git_counts") else SEPARATOR
        line, before = line + text, item
    return line

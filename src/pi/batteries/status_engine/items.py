"""The catalogue of line 2: what each item says about a state. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Literal, TypeAlias

from pi.extension import Record, sanitise_keeping_style

# What the status tells about: a snapshot of the session, handed to the engine.


class GitState(Record):
    """What is known of the repository; nothing outside of one."""

    branch: str = ""
    """``detached`` if HEAD is on none."""
    added: int | None = None
    """Lines since the last commit; ``None`` as long as nobody has counted them."""
    removed: int | None = None


class ContextWindow(Record):
    """How full the model's window is."""

    size: int
    used_percent: float | None = None
    """``None`` after a compaction, until the next answer."""


class StatusEngineState(Record):
    """Everything that lines 2 and 3 can be made of. What is empty is not shown."""

    session_id: str = ""
    transcript_path: str = ""
    """The file of the session; empty if it is kept in memory."""
    cwd: str = ""
    model: str = ""
    model_name: str = ""
    effort: str = ""
    """How much the model thinks; empty if it cannot."""
    sandbox: str = ""
    approval: str = ""
    git: GitState = GitState()
    since_session_ms: int = 0
    """Monotonic; begins anew with every session."""
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
"""What each item says; an empty text is left out."""


# Measuring and cutting text by columns, as the place where it is shown does it.


ELLIPSIS = "…"


def _printable(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _characters(text: str, start: int, width: int) -> str:
    return text[start : start + width]


def styled_line(text: str) -> str:
    """The first line of ``text``; colours survive, nothing else can command the terminal."""
    return sanitise_keeping_style(text).partition("\n")[0].rstrip()


class TextMetrics(Record):
    """How text is treated. By itself it takes every character for a column and allows no style."""

    width: Callable[[str], int] = len
    cut: Callable[[str, int, int], str] = _characters
    """The columns of a text from a start on, so many of them."""
    plain: Callable[[str], str] = _printable
    """One line of harmless text."""
    styled: Callable[[str], str] = _printable
    """The same, in which colours may survive."""

    def centred(self, text: str, width: int) -> str:
        """``text`` in at most ``width`` columns, an ellipsis in its middle if it is longer."""
        whole = self.width(text)
        if whole <= width:
            return text
        if width < 3:
            return self.fitted(text, width)
        right = (width - 1) // 2
        left = width - 1 - right
        return self.cut(text, 0, left) + ELLIPSIS + self.cut(text, whole - right, right)

    def fitted(self, text: str, width: int) -> str:
        """``text`` in at most ``width`` columns, an ellipsis at its end if it is longer."""
        if self.width(text) <= width:
            return text
        return self.cut(text, 0, width - 1) + ELLIPSIS if width > 0 else ""


# Line 2: the chosen items in a row, fitted to the width. Pure.


SEPARATOR = " | "
ELASTIC: tuple[StatusItem, ...] = ("git_branch", "workspace_name", "model")
"""Those that are shortened when there is not enough room, in this order."""
LEAST = 8
"""Columns that a shortened item keeps: fewer tell nothing."""


def compose(
    items: Sequence[StatusItem], state: StatusEngineState, width: int, text: TextMetrics
) -> str:
    """The items that have something to say, in at most ``width`` columns."""
    shown = {item: said for item in items if (said := text.plain(CATALOGUE[item](state)))}
    for item in ELASTIC:
        excess = text.width(_joined(shown)) - width
        if excess > 0 and item in shown:
            room = max(text.width(shown[item]) - excess, LEAST)
            shown[item] = text.centred(shown[item], room)
    return text.fitted(_joined(shown), width)


def _joined(shown: Mapping[StatusItem, str]) -> str:
    line, before = "", ""
    for item, said in shown.items():
        if line:  # the counts belong to the branch that they follow
            line += " " if (before, item) == ("git_branch", "git_counts") else SEPARATOR
        line, before = line + said, item
    return line

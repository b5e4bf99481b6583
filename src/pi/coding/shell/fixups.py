"""Habits of models that hide output from everybody, taken out of a command line. Pure.

Only what is certain to change nothing else: a command of several lines, or with open quotes, stays.
"""

from __future__ import annotations

import re
import shlex

from pi.base.records import Record

_LIMIT = re.compile(
    r"(?<!\s)\s*(?<!\|)\|&?\s*(?P<program>head|tail)(?:\s+(?:-n\s*|--lines[= ])?-?\d+)?\s*$"
)
_MERGED = re.compile(r"(?<!\s)\s+2>&1\s*$")
_ENDLESS = re.compile(
    r"\b(?:yes|ping|watch|top|while|until)\b|/dev/(?:u?random|zero)|\s-\w*[fF]\b|--follow"
)
"""Signs of a command that only ``head`` brings to an end."""
_CHANGE_FOLDER = re.compile(
    r"""cd\s+(?:'(?P<single>[^']+)'|"(?P<double>[^"$`\\]+)"|(?P<bare>[^\s'"$`\\;&|<>()*?[\]{}]+))"""
    r"\s*&&\s*(?P<rest>\S.*)"
)


class Fixed(Record):
    """A command line and where it is to run."""

    command: str
    cwd: str | None = None
    """Set if the command began by going there."""


def fixed(command: str, *, strip_limits: bool = True) -> Fixed:
    """A command without a limit at its end, and with its leading ``cd`` as a folder."""
    if strip_limits:
        command = without_limits(command)
    moved = _CHANGE_FOLDER.fullmatch(command)
    if moved is None or "\n" in command:
        return Fixed(command=command)
    folder = moved["single"] or moved["double"] or moved["bare"]
    return Fixed(command=moved["rest"], cwd=folder)


def without_limits(command: str) -> str:
    """A command without ``| head``, ``| tail`` and ``2>&1`` at its end.

    All that a command writes is kept anyway, errors too, and only the end is shown.
    """
    if "\n" in command:
        return command
    shorter = _LIMIT.sub("", command)
    if shorter != command and (not _is_whole(shorter) or _ENDLESS.search(shorter)):
        return command
    merged = _MERGED.sub("", shorter)
    return merged if merged.strip() and _is_whole(merged) else shorter


def _is_whole(command: str) -> bool:
    """Whether every quote is closed."""
    try:
        return bool(shlex.split(command))
    except ValueError:
        return False

"""Cleans up command lines, and rejects those for which a tool exists. Pure.

Models tend to append ``| head`` or ``2>&1``, which hides output. Only changes that are certain to
keep the meaning are made: a command of several lines, or with unbalanced quotes, is not changed.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Sequence
from pathlib import Path

from pi.extension import Record

_LIMIT = re.compile(
    r"(?<!\s)\s*(?<!\|)\|&?\s*(?P<program>head|tail)(?:\s+(?:-n\s*|--lines[= ])?-?\d+)?\s*$"
)
_MERGED = re.compile(r"(?<!\s)\s+2>&1\s*$")
_ENDLESS = re.compile(
    r"\b(?:yes|ping|watch|top|while|until)\b|/dev/(?:u?random|zero)|\s-\w*[fF]\b|--follow"
)
"""Signs of a command that runs forever unless ``head`` ends it."""
_CHANGE_FOLDER = re.compile(
    r"""cd\s+(?:'(?P<single>[^']+)'|"(?P<double>[^"$`\\]+)"|(?P<bare>[^\s'"$`\\;&|<>()*?[\]{}]+))"""
    r"\s*&&\s*(?P<rest>\S.*)"
)


class CleanedCommand(Record):
    """A command line and its working directory."""

    command: str
    cwd: str | None = None
    """Set if the command began with ``cd``."""


class BashCall(Record):
    """A command after clean-up and validation."""

    command: str
    cwd: Path | None
    env: dict[str, str]
    timeout: float | None


def clean_command(command: str, *, strip_limits: bool = True) -> CleanedCommand:
    """Return the command without limits at its end, and its leading ``cd`` as ``cwd``."""
    if strip_limits:
        command = strip_limits_at_end(command)
    moved = _CHANGE_FOLDER.fullmatch(command)
    if moved is None or "\n" in command:
        return CleanedCommand(command=command)
    folder = moved["single"] or moved["double"] or moved["bare"]
    return CleanedCommand(command=moved["rest"], cwd=folder)


def strip_limits_at_end(command: str) -> str:
    """Return the command without ``| head``, ``| tail`` and ``2>&1`` at its end.

    The tool keeps the whole output with standard error and truncates it itself.
    """
    if "\n" in command:
        return command
    shorter = _LIMIT.sub("", command)
    if shorter != command and (not _is_whole(shorter) or _ENDLESS.search(shorter)):
        return command
    merged = _MERGED.sub("", shorter)
    return merged if merged.strip() and _is_whole(merged) else shorter


def _is_whole(command: str) -> bool:
    """Whether the command is not empty and every quote is closed."""
    try:
        return bool(shlex.split(command))
    except ValueError:
        return False


class InterceptionRule(Record):
    """A command pattern and the tool to use instead."""

    pattern: str
    """Regular expression; an invalid one never matches."""
    tool: str
    message: str


DEFAULT_RULES = (
    InterceptionRule(
        pattern=r"^\s*(?:cat|head|tail|less|more|bat)\s+(?!.*(?:[|;&>]|<<|-f\b|--follow))",
        tool="read",
        message="Use the read tool to look at files; it can show any part of them.",
    ),
    InterceptionRule(
        pattern=r"^\s*(?:grep|egrep|fgrep|rg|ripgrep|ag|ack)\s",
        tool="grep",
        message="Use the grep tool to search in files; it respects .gitignore.",
    ),
    InterceptionRule(
        pattern=r"^\s*(?:find|fd|fdfind|locate)\s(?!.*-(?:exec|execdir|delete|ok|x|X)\b)",
        tool="find",
        message="Use the find tool to look for files; it respects .gitignore.",
    ),
    InterceptionRule(
        pattern=r"^\s*(?:sed\s+(?:\S+\s+)*(?:-\w*i|--in-place)|perl\s+(?:-\w+\s+)*-\w*i"
        r"|awk\s+.*-i\s+inplace)",
        tool="edit",
        message="Use the edit tool to change files; it shows what it has changed.",
    ),
    InterceptionRule(
        pattern=r"^\s*(?:echo|printf)\s+[^|;&]*[^\d&|;\s-]\s*>{1,2}\s*[^&|;\s]\S*\s*$"
        r"|^\s*cat\s*(?:>{1,2}\s*\S+\s*<<|<<\S+\s*>{1,2})",
        tool="write",
        message="Use the write tool to create files; it creates folders too.",
    ),
)


MAX_INTERCEPTED = 2000
"""Characters above which a command is not checked: it is a script, and patterns take long."""


def find_interception(
    command: str, rules: Sequence[InterceptionRule], tools: Collection[str]
) -> str | None:
    """Return why a command is rejected; ``None`` unless a rule matches and its tool is active."""
    if len(command) > MAX_INTERCEPTED:
        return None
    for rule in rules:
        if rule.tool in tools and _matches(rule.pattern, command):
            return f"Blocked: {rule.message}\n\nOriginal command: {command}"
    return None


def _matches(pattern: str, command: str) -> bool:
    try:
        return re.search(pattern, command) is not None
    except re.error:
        return False

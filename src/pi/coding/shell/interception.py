"""Rejects commands for which a tool exists, with a message that names the tool. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from pi.base.records import Record


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


def find_interception(
    command: str, rules: Sequence[InterceptionRule], tools: Collection[str]
) -> str | None:
    """Return why a command is rejected; ``None`` unless a rule matches and its tool is active."""
    for rule in rules:
        if rule.tool in tools and _matches(rule.pattern, command):
            return f"Blocked: {rule.message}\n\nOriginal command: {command}"
    return None


def _matches(pattern: str, command: str) -> bool:
    try:
        return re.search(pattern, command) is not None
    except re.error:
        return False

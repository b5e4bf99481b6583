"""Neutralises text that strangers wrote: web pages, results and descriptions of servers.

Everything that reaches a model or the screen from outside goes through ``neutralise``. Such text
may hide instructions in invisible characters, reorder what the user reads, or imitate the marks
with which pi describes a text to a model.
"""

from __future__ import annotations

import re
from functools import cache

from pi.base.terminal_text import sanitise

TAGS = (
    *("system-reminder", "system-interrupt", "user_instructions", "environment_context"),
    *("available_skills", "skill", "project_instructions", "project_context", "mcp_instructions"),
    *("previous-summary", "recent-messages", "carry-over", "read-files", "modified-files"),
)
"""Elements in which pi passes texts of its own to a model."""
NOTICES = (
    *("Text from ", "Page ", "The result has ", "The prompt continues ", "The text was cut"),
    *("The page builds ", "resource ", "Output truncated", "Showing lines ", "MCP server "),
    *("Instructions of ", "redacted]", "tool of the MCP server "),
)
"""Beginnings of lines in brackets in which pi describes a text to a model."""
_INVISIBLE = "\u00ad\u200b-\u200f\u061c\u2060\ufeff"
_UNSEEN = re.compile(
    "[\U000e0000-\U000e007f]"  # tags: ASCII that no terminal shows
    "|[\ufe00-\ufe0f\U000e0100-\U000e01ef]{2,}"  # one selects a variant, several carry data
)
_DIRECTION = re.compile("[\u202a-\u202e\u2066-\u2069]")
"""Overrides and isolates; the marks U+200E, U+200F and U+061C, which right-to-left text needs,
stay."""


def hides_text(text: str) -> bool:
    """Whether ``text`` has characters that are not visible, or that change its direction."""
    return "\x1b" in text or bool(_UNSEEN.search(text) or _DIRECTION.search(text))


def neutralise(text: str) -> str:
    """Return ``text`` without escape sequences and hidden characters, and without marks of pi.

    Characters that change the direction of text are written as escapes such as ``\\u202e``; a mark
    of pi gets a backslash before it.
    """
    if not text.isascii():
        text = _UNSEEN.sub("", text)
        text = _DIRECTION.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    text = sanitise(text)
    if "<" in text or "[" in text or "(" in text:
        # Last: a removed sequence must not join the parts of a mark.
        text = _marks().sub(r"\\\g<0>", text)
    return text


@cache
def _marks() -> re.Pattern[str]:
    def spread(word: str) -> str:
        return f"[{_INVISIBLE}]*".join(map(re.escape, word))

    tags = "|".join(map(spread, TAGS))
    notices = "|".join(map(spread, NOTICES))
    gap = rf"[\s{_INVISIBLE}]*"
    return re.compile(
        rf"(?<!\\)<(?={gap}/?{gap}(?i:{tags})[\s>/{_INVISIBLE}])"
        rf"|(?m:^)(?=[ \t{_INVISIBLE}]*[\[(]{gap}(?i:{notices}))"
        r"|(?<!\\)<(?=<\$env:S)"
    )

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
    *("skills", "work"),
)
"""Elements in which pi passes texts of its own to a model."""
NOTICES = (
    *("Text from ", "Page ", "The result has ", "The prompt continues ", "The text was cut"),
    *("The page builds ", "resource ", "Output truncated", "Showing lines ", "MCP server "),
    *(
        "Instructions of ",
        "redacted]",
        "tool of the MCP server ",
        "The text above ",
        "This ran in ",
    ),
    *("The shell session ", "There are more", "The user ", "Only the first "),
)
"""Beginnings of lines in brackets in which pi describes a text to a model."""
CLAIMS = ("not instructions", "the user was informed")
"""What such a line says further on."""
_INVISIBLE = "\u00ad\u200b-\u200f\u061c\u2060\ufeff"
_UNSEEN = re.compile(
    "[\U000e0000-\U000e007f]"  # tags: ASCII that no terminal shows
    "|[\ufe00-\ufe0f\U000e0100-\U000e01ef]{2,}"  # one selects a variant, several carry data
    # Variants exist of ideographs, and the first ones of symbols; elsewhere each one is data.
    "|(?<![\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])[\U000e0100-\U000e01ef]"
    "|(?<=[A-Za-z ,.])[\ufe00-\ufe0f]"
    "|[\u200b-\u200d\u2060\ufeff]{3,}"  # bits; emoji and Persian need single ones
    "|[\u034f\u115f\u1160\u17b4\u17b5\u180e\u2061-\u2065\u206a-\u206f\u3164\uffa0"
    "\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0080-\U000e00ff]"
)
_BRACKET = re.compile("[<\\[(\ufe64\uff1c\uff3b\uff08]")
_HYPHEN = "[-_\u2010-\u2015\u2212]"
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
        text = _DIRECTION.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
        # They begin a line for a reader, but not for ``_marks``.
        text = text.replace("\u2028", "\n").replace("\u2029", "\n")
    text = sanitise(text)
    if _BRACKET.search(text):
        # Last: a removed sequence must not join the parts of a mark.
        text = _marks().sub(r"\\\g<0>", text)
    return text


@cache
def _marks() -> re.Pattern[str]:
    def spread(word: str) -> str:
        return f"[{_INVISIBLE}]*+".join(_HYPHEN if c in "-_" else re.escape(c) for c in word)

    tags = "|".join(map(spread, TAGS))
    notices = "|".join(map(spread, NOTICES))
    claims = "|".join(map(spread, CLAIMS))
    file, name = spread("file"), spread("name")
    # Possessive: a run of thousands of blanks is never tried in another way.
    gap = rf"[\s{_INVISIBLE}]*+"
    opening, ending = "[<\ufe64\uff1c]", "(?:[\\s>/\ufe65\uff1e" + _INVISIBLE + "]|\\Z)"
    element = rf"{gap}[/\uff0f]?{gap}(?i:{tags}){ending}"
    # An attached file, ``<file name="…">``: other elements of this name are common.
    attached = rf"{gap}(?i:[/\uff0f]{gap}{file}{gap}[>/\ufe65\uff1e]|{file}[\s/]{gap}{name})"
    notice = rf"[\[(\uff3b\uff08](?:{gap}(?i:{notices})|[^\n]{{0,500}}?(?i:{claims}))"
    return re.compile(
        rf"(?<!\\){opening}(?={element}|{attached})"
        rf"|(?m:^)(?=[ \t{_INVISIBLE}]*+{notice})"
        r"|(?<!\\)<(?=<\$env:S)"
    )

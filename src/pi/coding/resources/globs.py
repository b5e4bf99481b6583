"""Patterns for file names, as ripgrep, fd and git understand them, as regular expressions. Pure."""

from __future__ import annotations

import re

_STARS = {"*": "[^/]*", "?": "[^/]"}


def glob_regex(pattern: str, *, braces: bool = True) -> str:
    """A regular expression for whole paths that use ``/``.

    ``*`` and ``?`` stay within one part of a path and ``**`` crosses parts; ``[a-z]``, ``[!a]``,
    ``{a,b}`` (unless ``braces`` is off, as for git) and ``\\`` before a character work as usual.
    What is not closed stands for itself.
    """
    out: list[str] = []
    at = 0
    while at < len(pattern):
        piece, at = _piece(pattern, at, braces=braces)
        out.append(piece)
    return "".join(out)


def _piece(pattern: str, at: int, *, braces: bool) -> tuple[str, int]:
    """The expression for what stands at ``at``, and where the next thing begins."""
    char = pattern[at]
    if pattern.startswith("**", at):
        return _double_star(pattern, at)
    if char in _STARS:
        return _STARS[char], at + 1
    if char == "[" and (end := _class_end(pattern, at)):
        return _class(pattern[at + 1 : end]), end + 1
    if char == "{" and braces and (end := _brace_end(pattern, at)):
        choices = "|".join(glob_regex(each) for each in _choices(pattern[at + 1 : end]))
        return f"(?:{choices})", end + 1
    if char == "\\" and at + 1 < len(pattern):
        return re.escape(pattern[at + 1]), at + 2
    return re.escape(char), at + 1


def _double_star(pattern: str, at: int) -> tuple[str, int]:
    end = at
    while end < len(pattern) and pattern[end] == "*":
        end += 1
    begins_part = at == 0 or pattern[at - 1] == "/"
    if not begins_part or end - at != 2 or pattern[end : end + 1] not in ("", "/"):
        return "[^/]*", end  # stars inside a name are one star
    if end < len(pattern):
        return "(?:.*/)?", end + 1
    return ".*", end


def _class_end(pattern: str, at: int) -> int | None:
    """Where a class that begins at ``at`` is closed; ``]`` right at its beginning is a member."""
    first = at + 1 + (pattern[at + 1 : at + 2] in ("!", "^"))
    end = pattern.find("]", first + 1)
    return end if end > 0 else None


def _class(members: str) -> str:
    negated = members[:1] in ("!", "^")
    inside = members[1:] if negated else members
    inside = inside.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    inside = inside.replace("^", "\\^").replace("&&", "\\&&").replace("~~", "\\~~")
    return f"(?!/)[{'^' if negated else ''}{inside}]"


def _brace_end(pattern: str, at: int) -> int | None:
    depth = 0
    for place in range(at, len(pattern)):
        if pattern[place] == "{":
            depth += 1
        elif pattern[place] == "}":
            depth -= 1
            if depth == 0:
                return place
    return None


def _choices(inside: str) -> list[str]:
    """What commas part, except those inside inner braces."""
    parts, depth = [""], 0
    for char in inside:
        depth += (char == "{") - (char == "}")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return parts


def compile_glob(
    pattern: str, *, ignore_case: bool = False, braces: bool = True
) -> re.Pattern[str]:
    """``glob_regex`` ready for ``fullmatch``; a pattern that cannot be is taken literally."""
    flags = re.DOTALL | (re.IGNORECASE if ignore_case else 0)
    try:
        return re.compile(glob_regex(pattern, braces=braces), flags)
    except re.error:  # such as the range [z-a]
        return re.compile(re.escape(pattern), flags)

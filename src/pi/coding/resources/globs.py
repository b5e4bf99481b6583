"""Patterns for file names, as ripgrep, fd and git understand them. Pure.

Patterns come from projects, packages and models, so no pattern may take long. A pattern becomes a
regular expression that never tries a second way to match: every ``*`` takes the first place where
what follows it fits, in an atomic group. That is enough, because the rest of a name has no more
room if a star takes a later one. Alternatives would break this, so braces are expanded first, and
a pattern with too many of them matches nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

LONGEST = 4096
"""Characters of a pattern, after which no path of an operating system is left to match."""
MOST_ALTERNATIVES = 256
"""How many patterns the braces of one may stand for."""
MOST_EXPANDED = 32_768
"""Characters of all of them together, with those on the way."""

_FOLDERS = ["*", "*"]
_NEVER = re.compile("(?!)")


class PatternTooLarge(ValueError):
    """A pattern that would take too long; the message says why."""


@lru_cache(maxsize=1024)
def compile_glob(
    pattern: str, *, ignore_case: bool = False, braces: bool = True
) -> re.Pattern[str]:
    """A regular expression for ``fullmatch`` with whole paths that use ``/``.

    ``*`` and ``?`` stay within one part of a path and ``**`` crosses parts; ``[a-z]``, ``[!a]``,
    ``{a,b}`` (unless ``braces`` is off, as for git) and ``\\`` before a character work as usual.
    What is not closed stands for itself. A pattern that is invalid otherwise is taken literally,
    one that is too large matches nothing; ``expand_braces`` says which are.
    """
    flags = re.DOTALL | (re.IGNORECASE if ignore_case else 0)
    try:
        alternatives = expand_braces(pattern) if braces else [_checked(pattern)]
    except PatternTooLarge:
        return _NEVER
    try:
        return re.compile("|".join(map(_expression, alternatives)), flags)
    except re.error:  # such as the range [z-a]
        return re.compile(re.escape(pattern), flags)


def expand_braces(pattern: str) -> list[str]:
    """The patterns without braces that ``pattern`` stands for; ``PatternTooLarge`` if too many."""
    waiting, expanded, looked_at = [_checked(pattern)], list[str](), 0
    while waiting:
        text = waiting.pop()
        looked_at += len(text)
        if (span := _first_braces(text)) is None:
            expanded.append(text)
        else:
            start, end = span
            waiting += (
                text[:start] + choice + text[end + 1 :]
                for choice in reversed(_choices(text[start + 1 : end]))
            )
        if len(waiting) + len(expanded) > MOST_ALTERNATIVES or looked_at > MOST_EXPANDED:
            raise PatternTooLarge(f"its braces stand for more than {MOST_ALTERNATIVES} patterns")
    return expanded


def _checked(pattern: str) -> str:
    if len(pattern) > LONGEST:
        raise PatternTooLarge(f"it is longer than {LONGEST} characters")
    return pattern


def _units(pattern: str) -> Iterator[tuple[int, str]]:
    """Characters that belong together: an escaped one, a class, or a single one, with its place."""
    at = 0
    while at < len(pattern):
        end = at + 1
        if pattern[at] == "\\" and end < len(pattern):
            end += 1
        elif pattern[at] == "[":
            end = _class_end(pattern, at) or end
        yield at, pattern[at:end]
        at = end


def _class_end(pattern: str, at: int) -> int | None:
    """Behind the class that begins at ``at``; ``]`` right at its beginning is a member."""
    first = at + 1 + (pattern[at + 1 : at + 2] in ("!", "^"))
    end = pattern.find("]", first + 1)
    return end + 1 if end > 0 else None


def _first_braces(text: str) -> tuple[int, int] | None:
    """Where the first braces that are closed open and close."""
    opened: list[int] = []
    closed: list[tuple[int, int]] = []
    for at, unit in _units(text):
        if unit == "{":
            opened.append(at)
        elif unit == "}" and opened:
            closed.append((opened.pop(), at))
    return min(closed, default=None)


def _choices(inside: str) -> list[str]:
    """What commas separate, except those inside inner braces."""
    parts, depth = [""], 0
    for _, unit in _units(inside):
        depth += (unit == "{") - (unit == "}")
        if unit == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += unit
    return parts


# Expressions --------------------------------------------------------------------------------------


def _expression(pattern: str) -> str:
    """The expression for a pattern without braces."""
    first, *others = _runs(pattern)
    if not others:
        return "/".join(first)
    out = "".join(f"{part}/" for part in first)
    for run in others[:-1]:
        out += f"(?>(?:[^/]*/)*?{'/'.join(run)}/)"
    last = others[-1]
    if not last:
        return f"{out}.*"
    if len(last) == 1:  # only what is behind the last slash can match
        return f"{out}(?>(?:.*/)?){last[0]}"
    return f"{out}(?:[^/]*/)*?{'/'.join(last)}"


def _runs(pattern: str) -> list[list[str]]:
    """Expressions for the parts of a path, divided where any number of folders may be between.

    The first is empty if the pattern begins with such a place, and the last if it ends with one.
    """
    runs: list[list[str]] = [[]]
    for part in _parts(pattern):
        if part != _FOLDERS:
            runs[-1].append(_part(part))
        elif runs[-1] or len(runs) == 1:  # two such places in a row are one
            runs.append([])
    return runs


def _parts(pattern: str) -> Iterator[list[str]]:
    """The units of each part of a path."""
    part: list[str] = []
    for _, unit in _units(pattern):
        if unit in ("/", "\\/"):
            yield part
            part = []
        else:
            part.append(unit)
    yield part


def _part(units: list[str]) -> str:
    """The expression for one part of a path: what the stars in it separate, one after another."""
    pieces = [""]
    for unit in units:
        if unit != "*":
            pieces[-1] += _unit(unit)
        elif pieces[-1] or len(pieces) == 1:  # two stars in a row are one
            pieces.append("")
    first, *others = pieces
    if not others:
        return first
    inner = "".join(f"(?>[^/]*?{piece})" for piece in others[:-1])
    return f"{first}{inner}(?>[^/]*{others[-1]})"


def _unit(unit: str) -> str:
    if unit == "?":
        return "[^/]"
    if unit[0] == "[" and len(unit) > 1:
        return _class(unit[1:-1])
    return re.escape(unit[1:] if unit[0] == "\\" and len(unit) > 1 else unit)


def _class(members: str) -> str:
    negated = members[:1] in ("!", "^")
    inside = members[1:] if negated else members
    inside = inside.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    inside = inside.replace("^", "\\^").replace("&&", "\\&&").replace("~~", "\\~~")
    return f"(?!/)[{'^' if negated else ''}{inside}]"

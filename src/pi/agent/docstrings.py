"""What a docstring says of a function and of its parameters. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection

# compiled when first needed: most sessions never need them
_PARAMETER = r"""(?x)
    (?P<indent>\s*)
    (?: :param\s+(?:[^:]*\s)? | [-*]\s+ )?      # reST, with or without a type; a list
    [`*]* (?P<name>\w+) [`*]*
    \s* (?: \([^)]*\) )?                        # Google: the type in brackets
    : (?: \s+ | $ ) (?P<text>.*)
"""
_SECTION = r"[A-Z]\w+:$|:\w+"


def read_docstring(text: str, names: Collection[str]) -> tuple[str, dict[str, str]]:
    """The first paragraph, and what is said of each of the parameters called ``names``.

    Understood are Google's ``Args:``, ``:param name:`` and plain lines ``name: text``; lines
    that are indented deeper go on with the one before.
    """
    lines = text.strip().splitlines()
    return _summary(lines, names), _parameters(lines, names)


def _summary(lines: list[str], names: Collection[str]) -> str:
    first: list[str] = []
    for line in lines:
        if not line.strip() or re.match(_SECTION, line.strip()) or _parameter(line, names):
            break
        first.append(line.strip())
    return " ".join(first)


def _parameters(lines: list[str], names: Collection[str]) -> dict[str, str]:
    told: dict[str, str] = {}
    current, indent = "", 0
    for line in lines:
        if (found := _parameter(line, names)) and found["name"] not in told:
            current, indent = found["name"], len(found["indent"])
            told[current] = found["text"].strip()
        elif current and line.strip() and len(line) - len(line.lstrip()) > indent:
            told[current] = f"{told[current]} {line.strip()}".lstrip()
        else:
            current = ""
    return told


def _parameter(line: str, names: Collection[str]) -> re.Match[str] | None:
    found = re.match(_PARAMETER, line)
    return found if found and found["name"] in names else None

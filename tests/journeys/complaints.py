"""What a user must never see, wherever a journey leads."""

from __future__ import annotations

import re

FORBIDDEN = {
    "a traceback": re.compile(
        r"Traceback \(most recent call last\)|^\s+File \".*\", line \d+", re.M
    ),
    "the word internal": re.compile(r"\binternal\b", re.I),
    "a pointer to pi.log": re.compile(r"\bpi\.log\b"),
    "an unknown command": re.compile(r"unknown command", re.I),
    "a doubled command": re.compile(
        r"(?<![\w/])/[a-z][a-z-]*:[12]\b|\"name\": ?\"[a-z][a-z-]*:[12]\"|^\W*[a-z][a-z-]*:[12]  ",
        re.M,
    ),
    "an event loop's own report": re.compile(r"was never (?:awaited|retrieved)|Task exception"),
}
"""What fails a journey: its name, and the pattern in anything that pi wrote."""


def find_complaints(text: str, expected: set[str]) -> list[str]:
    """Return what is wrong with the output of a journey; ``expected`` are names to leave out."""
    return [
        f"{name}: …{_excerpt(text, match)}…"
        for name, pattern in FORBIDDEN.items()
        if name not in expected and (match := pattern.search(text))
    ]


def find_logged(text: str) -> list[str]:
    """Return the tracebacks of ``pi.log``."""
    match = FORBIDDEN["a traceback"].search(text)
    return [f"a traceback in pi.log: …{_excerpt(text, match)}…"] if match else []


def _excerpt(text: str, match: re.Match[str]) -> str:
    return text[max(0, match.start() - 200) : match.end() + 600]

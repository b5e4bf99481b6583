"""Runs in a child process: matches Python patterns and syntax trees.

``re`` has no time limit, and the parser of a language may crash. Imports nothing of pi.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any


def answers(request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield one answer per pattern, so that the reader can identify a pattern that hangs."""
    for number in range(len(request["patterns"])):
        yield _match(request, number)


def _match(request: dict[str, Any], number: int) -> dict[str, Any]:
    """Return whether a pattern matches ``text`` more often than ``removed``, or the error."""
    pattern = request["patterns"][number]
    try:
        count = _tree_counter(request["language"]) if request["language"] else _count_matches
        count_after = count(pattern, request["text"], request["lines"])
        before = (
            count(pattern, request["removed"], None) if count_after and request["removed"] else 0
        )
    except BaseException as error:  # a panic of the parser is no Exception
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        return {"error": f"{type(error).__name__}: {error}"[:300]}
    return {"matched": count_after > before}


def _count_matches(pattern: str, text: str, lines: int | None) -> int:
    return sum(1 for _ in re.compile(pattern, re.ASCII).finditer(text))


def _tree_counter(language: str) -> Callable[[str, str, int | None], int]:
    from ast_grep_py import SgRoot  # installed with the extra "rules"

    def count(pattern: str, text: str, lines: int | None) -> int:
        nodes = SgRoot(text, language).root().find_all(pattern=pattern)
        return sum(1 for node in nodes if lines is None or node.range().end.line < lines)

    return count

"""Parses, searches and rewrites in a child process. Imports nothing of pi.

A process of its own, because a parser may crash, hang, or print a backtrace on the terminal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_VARIABLE = re.compile(r"\$\$\$([A-Z_][A-Z0-9_]*)|\$([A-Z_][A-Z0-9_]*)")
"""A variable of a pattern: ``$$$ARGS`` stands for any number of nodes, ``$X`` for one."""


def answers(request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the one answer to a request: ``matches``, or ``error``."""
    try:
        yield {"matches": _matches(request)}
    except BaseException as error:  # a panic of the parser is not an Exception
        if isinstance(error, KeyboardInterrupt | SystemExit | GeneratorExit):
            raise
        yield {"error": reason_of(str(error))}


def reason_of(text: str) -> str:
    """The innermost cause of an error of the parser, without its backtrace."""
    head = text.split("Stack backtrace", 1)[0].strip()
    lines = [line.strip() for line in head.splitlines() if line.strip()]
    last = re.sub(r"^\d+: ", "", lines[-1]) if lines else "the parser failed"
    return last[:300]


def _matches(request: dict[str, Any]) -> list[dict[str, Any]]:
    """The matches in order; with a rewrite, those inside another match are left out."""
    from ast_grep_py import SgRoot  # installed with the extra "rules"

    rewrite = request.get("rewrite")
    matches: list[dict[str, Any]] = []
    end = -1
    nodes = SgRoot(request["text"], request["language"]).root().find_all(pattern=request["pattern"])
    for node in sorted(nodes, key=lambda node: node.range().start.index):
        range = node.range()
        if rewrite is not None and range.start.index < end:
            continue
        end = range.end.index
        match: dict[str, Any] = {
            "start": range.start.index,
            "end": end,
            "line": range.start.line + 1,
        }
        match["lastLine"] = range.end.line + 1
        if rewrite is not None:
            match["new"] = _rewritten(node, rewrite, request["text"])
        matches.append(match)
    return matches


def _rewritten(node: Any, rewrite: str, text: str) -> str:
    """The text that replaces a match. Variables that matched nothing become empty."""

    def value(variable: re.Match[str]) -> str:
        many, one = variable.groups()
        if many is None:
            bound = node.get_match(one)
            return "" if bound is None else bound.text()
        nodes = node.get_multiple_matches(many)
        # The text between the nodes belongs to them: commas, spaces, comments.
        return text[nodes[0].range().start.index : nodes[-1].range().end.index] if nodes else ""

    return _VARIABLE.sub(value, rewrite)

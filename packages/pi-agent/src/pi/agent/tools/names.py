"""Names of tools as users write them in options, settings and rules, also for MCP servers. Pure.

A tool of an MCP server is named ``mcp__server__tool``. Older versions of pi wrote
``mcp__server_tool``, and these names are still understood.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

MCP = "mcp__"
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_*?!\[\]-]")


def mcp_key(name: str) -> str:
    """Return a form that is equal for names of servers and tools that count as equal."""
    return name.replace("-", "_").casefold()


def older_name(name: str) -> str:
    """Return the name that an MCP tool had in older versions; other names unchanged."""
    server, separator, tool = name.removeprefix(MCP).partition("__")
    return f"{MCP}{server}_{tool}" if name.startswith(MCP) and separator else name


def tool_matches(written: str, name: str) -> bool:
    """Whether a name that a user has written means the tool ``name``.

    ``*`` stands for anything, and ``mcp__server`` for all tools of a server. In names of MCP tools
    ``-`` and ``_`` count as equal, and case does not matter. Characters that the name of a tool
    cannot have are ``_`` in it, as in ``mcp__my.server``.
    """
    if not name.startswith(MCP):
        return fnmatchcase(name, written)
    pattern, key = mcp_key(_NOT_IN_NAMES.sub("_", written)), mcp_key(name)
    if fnmatchcase(key, pattern) or fnmatchcase(mcp_key(older_name(name)), pattern):
        return True
    return f"{pattern}__" == mcp_key(name[: name.find("__", len(MCP)) + 2])


def are_changes(entries: Sequence[str]) -> bool:
    """Whether every entry is ``+name`` or ``-name``: a change of another list of tools."""
    return bool(entries) and all(entry.startswith(("+", "-")) for entry in entries)


def changed_tools(base: Iterable[str], entries: Sequence[str]) -> tuple[str, ...]:
    """Return the tools that a list of entries selects.

    Plain names replace ``base``; then ``+name`` and ``-name`` add and remove in their order. Names
    may be patterns.
    """
    plain = [entry for entry in entries if not entry.startswith(("+", "-"))]
    names = list(dict.fromkeys(base if are_changes(entries) else plain))
    for entry in entries:
        sign, name = entry[:1], entry[1:]
        if sign == "-":
            names = [other for other in names if not tool_matches(name, other)]
        elif sign == "+" and name not in names:
            names.append(name)
    return tuple(names)


def removed_tools(entries: Iterable[str]) -> tuple[str, ...]:
    """Return the names and patterns that ``entries`` remove and do not add again."""
    removed: dict[str, None] = {}
    for entry in entries:
        if entry.startswith("-"):
            removed[entry[1:]] = None
        else:
            removed.pop(entry.removeprefix("+"), None)
    return tuple(removed)

"""Finds settings of guards that a file contains twice. Pure.

Parsers keep the last of two equal names, so that ``"permissions"`` at the end of a long file would
silently replace the one at its beginning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from pi.base.records import UNREADABLE
from pi.coding.settings.guards import GUARDS, SECTIONS

_TOP = tuple(dict.fromkeys(row.path[0] for row in GUARDS))


def repeated_in_json(data: bytes) -> tuple[str, int] | None:
    """Return the name of a repeated setting and the position of the second one, in characters.

    ``data`` must be an object, with or without comments.
    """
    if not any(_may_repeat(data)):
        return None
    from pi.base.jsonc import repeated_member  # lazy: for errors and comments only

    text = data.decode()
    for path in (*((name,) for name in _TOP), *(row.path for row in GUARDS)):
        if (position := repeated_member(text, path)) is not None:
            return path[-1], position
    return None


def _may_repeat(data: bytes) -> Iterator[bool]:
    counts = {name: data.count(_quote(name)) for name in _TOP}
    yield any(count > 1 for count in counts.values())
    if not any(counts[section] for section in SECTIONS):
        return
    try:
        members = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
    except UNREADABLE:  # it has comments
        yield True
        return
    for row in GUARDS:
        *above, name = row.path
        if above and above[0] in members:
            yield bytes(members[above[0]]).count(_quote(name)) > 1


def _quote(name: str) -> bytes:
    return f'"{name}"'.encode()


def repeated_in_yaml(text: str) -> tuple[str, int] | None:
    """Return the name of a repeated setting and the position of the second one, in characters."""
    for name in _TOP:
        matches = [*re.finditer(rf"(?m)^([\"']?){name}\1[ \t]*:", text)]
        if len(matches) > 1:
            return name, matches[1].start()
        if not matches or name not in SECTIONS:
            continue
        start = matches[0].end()
        end = re.search(r"(?m)^[^\s#]", text[start:])
        body = text[start : start + end.start()] if end else text[start:]
        for row in GUARDS:
            if row.path[0] == name:
                member = rf"(?m)(?:^[ \t]+|[{{,][ \t]*)([\"']?){row.path[1]}\1[ \t]*:(?:\s|$)"
                members = [*re.finditer(member, body)]
                if len(members) > 1:
                    return row.path[1], start + members[1].start()
    return None

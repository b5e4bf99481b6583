"""The list of extensions as text, for shells and editors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pi.base.terminal_text import one_line
from pi.coding.port.extensions import ExtensionRow, RowGroup

GROUPS: dict[RowGroup, str] = {
    "on": "On",
    "recommended": "Recommended, off",
    "more": "More, off",
    "needs": "Needs something",
}
NAME_WIDTH = 20


def extension_lines(rows: Sequence[ExtensionRow]) -> Iterator[str]:
    """Yield the extensions by group: name, benefit, and what is special about it."""
    for group, title in GROUPS.items():
        members = [row for row in rows if row.group == group]
        if members:
            yield f"{title}:"
            yield from (_line(row) for row in members)
            yield ""
    yield "`pi extensions on NAME` and `pi extensions off NAME` switch; /extensions shows details."


def _line(row: ExtensionRow) -> str:
    facts = [row.benefit]
    if row.state == "ready":
        facts.append(f"({' or '.join(row.activation)})" * bool(row.activation))
    elif row.state == "needs":
        facts.append(f"It needs {', '.join(row.needs)}.")
    elif row.state == "on" and row.kind == "choice" and isinstance(row.value, str):
        facts.append(f"({row.value})")
    text = one_line(" ".join(filter(None, facts)))
    return f"  {one_line(row.name):{NAME_WIDTH}} {text}".rstrip()

"""The tools of a branch: those that its system messages declare, or those that the user selected.

Extensions may limit and replace the selected tools for a while, as plan mode does. Only then is the
selection stored, as a ``custom`` entry: a resumed session would lose the tools that are withheld.
"""

from __future__ import annotations

from collections.abc import Sequence

from pi.ai.messages import SystemMessage, Tool
from pi.ai.transcript import final_tools
from pi.coding.session.entries import Compaction, Custom, MessageEntry
from pi.coding.session.log import SessionLog

SELECTION = "active-tools"
"""Custom type of the entry; its ``data.names`` are the selected built-in tools."""
_LOOKED_AT = 400
"""Bytes of a line in which the role of a system message is searched."""


def recorded_tools(log: SessionLog) -> tuple[str, ...] | None:
    """Return the tools of the branch; ``None`` if it declares none."""
    if (names := recorded_selection(log)) is not None:
        return names
    return None if log.leaf is None else declared_tools(log, log.leaf)


def declared_tools(log: SessionLog, last: int) -> tuple[str, ...] | None:
    """Return the tools that the branch up to an entry declares; ``None`` if it declares none."""
    system: list[SystemMessage] = []
    position, outlines = last, log.tree.outlines
    for position in log.tree.upwards_in_memory(last):
        kind = outlines[position].type
        if kind == "message" and b'"system"' in log.line(position)[:_LOOKED_AT]:
            entry = log.at(position)
            if isinstance(entry, MessageEntry) and isinstance(entry.message, SystemMessage):
                system.append(entry.message)
        elif kind == "compaction":
            entry = log.at(position)
            if isinstance(entry, Compaction) and isinstance(entry.system_message, SystemMessage):
                system.append(entry.system_message)  # combines all before it
                break
    else:
        facts = log.tree.facts_above(position)
        if facts is not None and facts.tools is not None:
            tools = (Tool(name=name, description="", parameters={}) for name in facts.tools)
            system.append(SystemMessage(content="", tools_added=tuple(tools)))
    if not system:
        return None
    return tuple(tool.name for tool in final_tools(reversed(system)))


def recorded_selection(log: SessionLog) -> tuple[str, ...] | None:
    """Return the selection that was last stored on the branch; ``None`` if there is none."""
    if SELECTION not in log.custom_types():
        return None
    for entry in log.customs(SELECTION):
        match entry.data:
            case {"names": list(names)}:
                return tuple(name for name in names if isinstance(name, str))
    return None


def selection_entry(names: Sequence[str]) -> Custom:
    """Return the entry that stores a selection."""
    return Custom(custom_type=SELECTION, data={"names": list(names)})

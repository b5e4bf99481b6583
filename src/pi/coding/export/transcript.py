"""A session as everything that exports need to know of it: a pure reading of its entries."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from pi.ai.messages import (
    AssistantMessage,
    SystemMessage,
    Text,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    blocks,
)
from pi.ai.transcript import Instructions, final_tools, render
from pi.base.records import Record
from pi.base.terminal_text import one_line
from pi.coding.export.totals import Totals, add_up
from pi.coding.session.entries import (
    BranchSummary,
    Compaction,
    CustomMessageEntry,
    Entry,
    Label,
    MessageEntry,
    SessionHeader,
    SessionInfo,
)
from pi.coding.session.messages import CustomMessage

ROOT = -1
"""The parent of an entry that has none."""
LONGEST_TITLE = 80

Place = tuple[int, int]
"""A tool call: the number of its answer's node, and its own among the blocks of the answer."""

_LEADING_BLANK_LINES = re.compile(r"\A(?:[^\S\n]*\n)+")


class Node(Record):
    """An entry in its place. Nodes are numbered in the order of the file."""

    entry: Entry
    parent: int = ROOT
    """Always a smaller number: a parent that only comes later counts as none."""
    label: str = ""
    call: Place | None = None
    """The tool call that this is the result of, if there is one above it."""

    @property
    def aside(self) -> bool:
        """Whether the screen shows nothing of it: settings, bookmarks, what extensions keep."""
        match self.entry:
            case MessageEntry(message=SystemMessage() | CustomMessage(display=False)):
                return True
            case CustomMessageEntry(display=shown):
                return not shown
            case MessageEntry() | Compaction() | BranchSummary():
                return False
            case _:
                return True


class Transcript(Record):
    """A session: its tree of entries, where it stands, what the model was told, what it cost."""

    header: SessionHeader
    name: str
    nodes: tuple[Node, ...]
    leaf: int
    """The node at which the session stands; ``ROOT`` if it is empty or at its beginning."""
    instructions: Instructions
    """System prompt and tools as they are at the leaf."""
    totals: Totals
    results: Mapping[Place, tuple[int, ...]]
    """The results of every tool call: more than one where branches part below it."""

    @property
    def title(self) -> str:
        """The session's name, else how it begins, else its id."""
        return self.name or self._beginning() or f"Session {one_line(self.header.id)}"

    def branch(self) -> tuple[int, ...]:
        """The nodes from the root to the leaf."""
        return _path([node.parent for node in self.nodes], self.leaf)

    def _beginning(self) -> str:
        for node in self.nodes:
            if isinstance(node.entry, MessageEntry) and isinstance(node.entry.message, UserMessage):
                said = blocks(node.entry.message.content)
                words = one_line(" ".join(part.text for part in said if isinstance(part, Text)))
                if words:
                    return shortened(words, LONGEST_TITLE)
        return ""


def read_transcript(
    header: SessionHeader,
    entries: Sequence[Entry],
    *,
    leaf: str | None = "",
    instructions: Instructions | None = None,
) -> Transcript:
    """The session that the entries make.

    ``leaf`` is the id of the entry at which it stands: empty for the last one, None for the very
    beginning. ``instructions`` are those of a live session; without them they are read from the
    branch.
    """
    parents = _parents(entries)
    stands_at = _leaf(leaf, entries)
    calls = _calls(entries, parents)
    labels = _labels(entries)
    branch = [entries[number] for number in _path(parents, stands_at)]
    return Transcript(
        header=header,
        name=_name(entries),
        nodes=tuple(
            Node(
                entry=entry,
                parent=parents[number],
                label=labels.get(entry.id, ""),
                call=calls.get(number),
            )
            for number, entry in enumerate(entries)
        ),
        leaf=stands_at,
        instructions=instructions or read_instructions(branch),
        totals=add_up(entries),
        results=_results(calls),
    )


def read_instructions(branch: Sequence[Entry]) -> Instructions:
    """The system prompt and the tools that a branch has come to."""
    system: list[SystemMessage] = []
    for entry in branch:
        match entry:
            case Compaction(system_message=SystemMessage() as checkpoint):
                system = [checkpoint]
            case MessageEntry(message=SystemMessage() as patch):
                system.append(patch)
    return Instructions(prompt=render(system), tools=final_tools(system))


def unpadded(text: str) -> str:
    """``text`` without blank lines around it; the first line keeps its indentation."""
    return _LEADING_BLANK_LINES.sub("", text).rstrip()


def shortened(text: str, most: int) -> str:
    """``text``, cut to ``most`` characters with an ellipsis if it is longer."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def _parents(entries: Sequence[Entry]) -> list[int]:
    seen: dict[str, int] = {}
    parents = []
    for number, entry in enumerate(entries):
        parents.append(ROOT if entry.parent_id is None else seen.get(entry.parent_id, ROOT))
        seen[entry.id] = number
    return parents


def _leaf(leaf: str | None, entries: Sequence[Entry]) -> int:
    if leaf is None:
        return ROOT
    numbers = {entry.id: number for number, entry in enumerate(entries)}
    return numbers.get(leaf, len(entries) - 1)


def _path(parents: Sequence[int], leaf: int) -> tuple[int, ...]:
    path = []
    while leaf != ROOT:
        path.append(leaf)
        leaf = parents[leaf]
    return tuple(reversed(path))


def _calls(entries: Sequence[Entry], parents: Sequence[int]) -> dict[int, Place]:
    """For every tool result its call: the nearest one above it with the id that it names."""
    places: dict[str, list[Place]] = {}
    found: dict[int, Place] = {}
    for number, entry in enumerate(entries):
        match entry:
            case MessageEntry(message=AssistantMessage() as answer):
                for position, block in enumerate(answer.content):
                    if isinstance(block, ToolCall):
                        places.setdefault(block.id, []).append((number, position))
            case MessageEntry(message=ToolResultMessage() as result):
                for place in reversed(places.get(result.tool_call_id, [])):
                    if _is_above(place[0], number, parents):
                        found[number] = place
                        break
    return found


def _is_above(upper: int, lower: int, parents: Sequence[int]) -> bool:
    while lower > upper:
        lower = parents[lower]
    return lower == upper


def _results(calls: Mapping[int, Place]) -> dict[Place, tuple[int, ...]]:
    results: dict[Place, tuple[int, ...]] = {}
    for number, place in calls.items():
        results[place] = (*results.get(place, ()), number)
    return results


def _labels(entries: Sequence[Entry]) -> dict[str, str]:
    labels = (entry for entry in entries if isinstance(entry, Label))
    return {label.target_id: one_line(label.label or "") for label in labels}


def _name(entries: Sequence[Entry]) -> str:
    names = [entry.name for entry in entries if isinstance(entry, SessionInfo)]
    return one_line(names[-1] or "") if names else ""

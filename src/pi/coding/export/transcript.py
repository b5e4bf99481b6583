"""A session as everything that exports need to know of it: a pure reading of its entries."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from pi.ai.messages import (
    AssistantMessage,
    Image,
    SystemMessage,
    Text,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
    add_usage,
)
from pi.ai.transcript import Instructions, final_tools, render
from pi.base.records import Record
from pi.base.terminal_text import one_line
from pi.coding.session.entries import (
    BranchSummary,
    BranchSummaryMessage,
    Compaction,
    CompactionSummaryMessage,
    CustomMessage,
    CustomMessageEntry,
    Entry,
    Label,
    MessageEntry,
    ModelChange,
    SessionHeader,
    SessionInfo,
    SessionMessage,
    ThinkingLevelChange,
    UsageEntry,
)
from pi.coding.session.views import usage_of

# What a session has cost, with everything that was compacted away or left on another branch.


class Spent(Record):
    """Tokens and dollars that went one way."""

    what: str
    """A model, or the work beside the conversation that the tokens were for."""
    requests: int
    usage: Usage


class Totals(Record):
    """All that was spent: one row for each way, in the order of first use."""

    rows: tuple[Spent, ...] = ()

    @property
    def all(self) -> Spent:
        """The sum of the rows."""
        usage = Usage()
        for row in self.rows:
            usage = add_usage(usage, row.usage)
        return Spent(what="", requests=sum(row.requests for row in self.rows), usage=usage)


def sum_usage(entries: Iterable[Entry]) -> Totals:
    """What the entries have cost together."""
    rows: dict[str, Spent] = {}
    for entry in entries:
        if (usage := usage_of(entry)) is None:
            continue
        what = _purpose(entry)
        so_far = rows.get(what) or Spent(what=what, requests=0, usage=Usage())
        rows[what] = Spent(
            what=what, requests=so_far.requests + 1, usage=add_usage(so_far.usage, usage)
        )
    return Totals(rows=tuple(rows.values()))


def _purpose(entry: Entry) -> str:
    match entry:
        case MessageEntry(message=AssistantMessage() as answer):
            return model_name(answer.provider, answer.model)
        case MessageEntry(message=ToolResultMessage() as result):
            return f"tool {result.tool_name}"
        case UsageEntry():
            return f"{model_name(entry.provider, entry.model)} ({entry.kind})"
        case BranchSummary():
            return "branch summaries"
        case _:
            return "compaction"


def model_name(provider: str, model: str) -> str:
    """A model as it is called everywhere: ``provider/model``."""
    return "/".join(part for part in (provider, model) if part) or "unknown model"


def dollars(spent: Spent) -> str:
    """What was paid, with as many digits as small sums need."""
    total = spent.usage.cost.total
    return f"${total:,.2f}" if total >= 1 else f"${total:.4f}"


ROOT = -1
"""The parent of an entry that has none."""
MAX_TITLE = 80

CallPosition = tuple[int, int]
"""A tool call: the number of its answer's node, and its own among the blocks of the answer."""

_LEADING_BLANK_LINES = re.compile(r"\A(?:[^\S\n]*\n)+")


class Node(Record):
    """An entry in its place. Nodes are numbered in the order of the file."""

    entry: Entry
    parent: int = ROOT
    """Always a smaller number: a parent that only comes later counts as none."""
    label: str = ""
    call: CallPosition | None = None
    """The tool call that this is the result of, if there is one above it."""

    @property
    def message(self) -> SessionMessage | None:
        """What it says in the conversation, in one form for all kinds of entries."""
        match self.entry:
            case MessageEntry(message=message):
                return message
            case CustomMessageEntry(custom_type=kind, content=content, display=display):
                return CustomMessage(custom_type=kind, content=content, display=display)
            case Compaction(summary=summary, tokens_before=tokens, content=content):
                return CompactionSummaryMessage(
                    summary=summary, tokens_before=tokens, content=content
                )
            case BranchSummary(summary=summary, from_id=left):
                return BranchSummaryMessage(summary=summary, from_id=left)
            case _:
                return None

    @property
    def aside(self) -> bool:
        """Whether the screen shows nothing of it: settings, bookmarks, what extensions keep."""
        match self.message:
            case None | SystemMessage() | CustomMessage(display=False):
                return True
            case _:
                return False


class Transcript(Record):
    """A session: its tree of entries, where it stands, what the model was told, what it cost."""

    header: SessionHeader
    name: str
    nodes: tuple[Node, ...]
    leaf: int
    """The node at which the session stands; ``ROOT`` if it is empty or at its beginning."""
    instructions: Instructions
    """System prompt and tools as they are at the leaf."""
    model: str
    """The model that answers at the leaf; empty if none was chosen yet."""
    thinking_level: str
    totals: Totals
    results: Mapping[CallPosition, tuple[int, ...]]
    """The results of every tool call: more than one where branches part below it."""

    @property
    def title(self) -> str:
        """The session's name, else how it begins, else its id."""
        return self.name or self._beginning() or f"Session {one_line(self.header.id)}"

    def branch(self) -> tuple[int, ...]:
        """The nodes from the root to the leaf."""
        return _path([node.parent for node in self.nodes], self.leaf)

    def _beginning(self) -> str:
        messages = (node.message for node in self.nodes)
        words = (one_line(content_text(m.content)) for m in messages if isinstance(m, UserMessage))
        return truncate_text(next(filter(None, words), ""), MAX_TITLE)


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
        model=_model(branch),
        thinking_level=_thinking_level(branch),
        totals=sum_usage(entries),
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


def strip_blank_lines(text: str) -> str:
    """``text`` without blank lines around it; the first line keeps its indentation."""
    return _LEADING_BLANK_LINES.sub("", text).rstrip()


def content_text(content: str | Sequence[Text | Image]) -> str:
    """The words of a message, with a note for every picture."""
    if isinstance(content, str):
        return content
    return "\n".join(part.text if isinstance(part, Text) else "[image]" for part in content)


def truncate_text(text: str, most: int) -> str:
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


def _calls(entries: Sequence[Entry], parents: Sequence[int]) -> dict[int, CallPosition]:
    """For every tool result its call: the nearest one above it with the id that it names."""
    places: dict[str, list[CallPosition]] = {}
    found: dict[int, CallPosition] = {}
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


def _results(calls: Mapping[int, CallPosition]) -> dict[CallPosition, tuple[int, ...]]:
    results: dict[CallPosition, tuple[int, ...]] = {}
    for number, place in calls.items():
        results[place] = (*results.get(place, ()), number)
    return results


def _model(branch: Sequence[Entry]) -> str:
    for entry in reversed(branch):
        match entry:
            case ModelChange(provider=provider, model_id=model):
                return model_name(provider, model)
            case MessageEntry(message=AssistantMessage(provider=provider, model=model)):
                return model_name(provider, model)
    return ""


def _thinking_level(branch: Sequence[Entry]) -> str:
    levels = [entry.thinking_level for entry in branch if isinstance(entry, ThinkingLevelChange)]
    return levels[-1] if levels else "off"


def _labels(entries: Sequence[Entry]) -> dict[str, str]:
    labels = (entry for entry in entries if isinstance(entry, Label))
    return {label.target_id: one_line(label.label or "") for label in labels}


def _name(entries: Sequence[Entry]) -> str:
    names = [entry.name for entry in entries if isinstance(entry, SessionInfo)]
    return one_line(names[-1] or "") if names else ""

"""The transcript of a session for exports: tree, instructions, results and totals. Pure."""

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
    Custom,
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
from pi.coding.session.statistics import model_call_of, usage_of


class Spent(Record):
    """Tokens and cost of one model or purpose."""

    what: str
    """A model, or another purpose such as ``compaction``; empty for the sum of all."""
    requests: int
    usage: Usage


class Totals(Record):
    """Usage by model and purpose, in order of first use; includes compacted and other branches."""

    rows: tuple[Spent, ...] = ()

    @property
    def all(self) -> Spent:
        """The sum of the rows."""
        usage = Usage()
        for row in self.rows:
            usage = add_usage(usage, row.usage)
        return Spent(what="", requests=sum(row.requests for row in self.rows), usage=usage)


def sum_usage(entries: Iterable[Entry]) -> Totals:
    """Return the usage of all entries."""
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
        case Custom() if (call := model_call_of(entry)) is not None:
            return f"{model_name(call.provider, call.model)} (extension {call.extension})"
        case BranchSummary():
            return "branch summaries"
        case _:
            return "compaction"


def model_name(provider: str, model: str) -> str:
    """Return ``provider/model``."""
    return "/".join(part for part in (provider, model) if part) or "unknown model"


def dollars(spent: Spent) -> str:
    """Format the cost; small amounts have more digits."""
    total = spent.usage.cost.total
    return f"${total:,.2f}" if total >= 1 else f"${total:.4f}"


ROOT = -1
"""The parent of an entry that has none."""
MAX_TITLE = 80

CallPosition = tuple[int, int]
"""A tool call: node number of the answer, and index among the answer's blocks."""

_LEADING_BLANK_LINES = re.compile(r"\A(?:[^\S\n]*\n)+")


class Node(Record):
    """An entry in the tree. Nodes are numbered in file order."""

    entry: Entry
    parent: int = ROOT
    """Always a smaller number: a parent that comes later is ignored."""
    label: str = ""
    call: CallPosition | None = None
    """The tool call that this is a result of, if an ancestor has it."""

    @property
    def message(self) -> SessionMessage | None:
        """The message of the entry in the conversation, if it has one."""
        match self.entry:
            case MessageEntry(message=message):
                return message
            case CustomMessageEntry(
                custom_type=kind, content=content, display=display, details=details
            ):
                return CustomMessage(
                    custom_type=kind, content=content, display=display, details=details
                )
            case Compaction(summary=summary, tokens_before=tokens, content=content):
                return CompactionSummaryMessage(
                    summary=summary, tokens_before=tokens, content=content
                )
            case BranchSummary(summary=summary, from_id=from_id):
                return BranchSummaryMessage(summary=summary, from_id=from_id)
            case _:
                return None

    @property
    def aside(self) -> bool:
        """Whether the screen does not show it: settings, labels, extension state."""
        match self.message:
            case None | SystemMessage() | CustomMessage(display=False):
                return True
            case _:
                return False


class Transcript(Record):
    """A session: tree of entries, current leaf, instructions and totals."""

    header: SessionHeader
    name: str
    nodes: tuple[Node, ...]
    leaf: int
    """The current node; ``ROOT`` if the session is empty or at its beginning."""
    instructions: Instructions
    """System prompt and tools at the leaf."""
    model: str
    """The model at the leaf; empty if none was selected yet."""
    thinking_level: str
    totals: Totals
    results: Mapping[CallPosition, tuple[int, ...]]
    """The results of every tool call: several if branches fork below it."""

    @property
    def title(self) -> str:
        """The session's name, else the beginning of its first message, else its id."""
        return self.name or self._first_prompt() or f"Session {one_line(self.header.id)}"

    def branch(self) -> tuple[int, ...]:
        """The nodes from the root to the leaf."""
        return _path([node.parent for node in self.nodes], self.leaf)

    def _first_prompt(self) -> str:
        messages = (node.message for node in self.nodes)
        prompts = (
            one_line(content_text(m.content)) for m in messages if isinstance(m, UserMessage)
        )
        return truncate_text(next(filter(None, prompts), ""), MAX_TITLE)


def read_transcript(
    header: SessionHeader,
    entries: Sequence[Entry],
    *,
    leaf: str | None = "",
    instructions: Instructions | None = None,
) -> Transcript:
    """Build the transcript of a session.

    ``leaf`` is the id of the current entry: empty for the last one, ``None`` for the beginning.
    ``instructions`` are those of a live session; by default they are read from the branch.
    """
    parents = _parents(entries)
    leaf_number = _leaf(leaf, entries)
    calls = _match_calls(entries, parents)
    labels = _read_labels(entries)
    branch = [entries[number] for number in _path(parents, leaf_number)]
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
        leaf=leaf_number,
        instructions=instructions or read_instructions(branch),
        model=_model(branch),
        thinking_level=_thinking_level(branch),
        totals=sum_usage(entries),
        results=_group_results(calls),
    )


def read_instructions(branch: Sequence[Entry]) -> Instructions:
    """Return the system prompt and the tools at the end of a branch."""
    system: list[SystemMessage] = []
    for entry in branch:
        match entry:
            case Compaction(system_message=SystemMessage() as checkpoint):
                system = [checkpoint]
            case MessageEntry(message=SystemMessage() as patch):
                system.append(patch)
    return Instructions(prompt=render(system), tools=final_tools(system))


def strip_blank_lines(text: str) -> str:
    """Return ``text`` without surrounding blank lines; the first line keeps its indentation."""
    return _LEADING_BLANK_LINES.sub("", text).rstrip()


def content_text(content: str | Sequence[Text | Image]) -> str:
    """Return the text of a message, with a note for every image."""
    if isinstance(content, str):
        return content
    return "\n".join(part.text if isinstance(part, Text) else "[image]" for part in content)


def truncate_text(text: str, most: int) -> str:
    """Truncate ``text`` to ``most`` characters with an ellipsis."""
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


def _match_calls(entries: Sequence[Entry], parents: Sequence[int]) -> dict[int, CallPosition]:
    """Return the call of every tool result: the nearest ancestor with its call id."""
    positions: dict[str, list[CallPosition]] = {}
    calls: dict[int, CallPosition] = {}
    for number, entry in enumerate(entries):
        match entry:
            case MessageEntry(message=AssistantMessage() as answer):
                for position, block in enumerate(answer.content):
                    if isinstance(block, ToolCall):
                        positions.setdefault(block.id, []).append((number, position))
            case MessageEntry(message=ToolResultMessage() as result):
                for call_position in reversed(positions.get(result.tool_call_id, [])):
                    if _is_above(call_position[0], number, parents):
                        calls[number] = call_position
                        break
    return calls


def _is_above(upper: int, lower: int, parents: Sequence[int]) -> bool:
    while lower > upper:
        lower = parents[lower]
    return lower == upper


def _group_results(calls: Mapping[int, CallPosition]) -> dict[CallPosition, tuple[int, ...]]:
    results: dict[CallPosition, tuple[int, ...]] = {}
    for number, call_position in calls.items():
        results[call_position] = (*results.get(call_position, ()), number)
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


def _read_labels(entries: Sequence[Entry]) -> dict[str, str]:
    labels = (entry for entry in entries if isinstance(entry, Label))
    return {label.target_id: one_line(label.label or "") for label in labels}


def _name(entries: Sequence[Entry]) -> str:
    names = [entry.name for entry in entries if isinstance(entry, SessionInfo)]
    return one_line(names[-1] or "") if names else ""

"""What a session has cost, with everything that was compacted away or left on another branch."""

from __future__ import annotations

from collections.abc import Iterable

from pi.agent.compaction.usage import added
from pi.ai.messages import AssistantMessage, ToolResultMessage, Usage
from pi.base.records import Record
from pi.coding.session.entries import BranchSummary, Entry, MessageEntry, UsageEntry
from pi.coding.session.numbers import usage_of


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
            usage = added(usage, row.usage)
        return Spent(what="", requests=sum(row.requests for row in self.rows), usage=usage)


def add_up(entries: Iterable[Entry]) -> Totals:
    """What the entries have cost together."""
    rows: dict[str, Spent] = {}
    for entry in entries:
        if (usage := usage_of(entry)) is None:
            continue
        what = _purpose(entry)
        so_far = rows.get(what) or Spent(what=what, requests=0, usage=Usage())
        rows[what] = Spent(
            what=what, requests=so_far.requests + 1, usage=added(so_far.usage, usage)
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

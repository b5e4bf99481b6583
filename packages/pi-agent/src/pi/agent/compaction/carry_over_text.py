"""Formats a carry-over so that it fits its budget. Pure.

Every section has a share of the budget. Unused room goes to the other sections; what does not fit
is replaced by the id of an entry that can be read back.
"""

from __future__ import annotations

from collections.abc import Sequence

from pi.agent.compaction.carry_over import CarryOver, Q, Quote, same_words
from pi.agent.compaction.file_lists import FileLists, file_blocks
from pi.agent.compaction.text import shortened, wrap_in_tag
from pi.ai.token_estimates import CHARACTERS_PER_TOKEN
from pi.base.records import Record, replace

PART_OF_KEPT = 0.15
"""Share of the kept window that the carry-over may use."""
MAX_MESSAGE = 600
"""Characters above which a message between the first and the latest is truncated."""
MAX_UNSHOWN = 500
"""Maximum number of ids."""

_LEAD = "Word for word from before this point. Where the notes above say otherwise, this holds."
_FRAME = len(wrap_in_tag("carry-over", f"{_LEAD}\n\n")) + len("\n\n")
_MIN_ROOM, _REMEMBERED = 4 * _FRAME, 12_000
_BARE_FRAME = len(wrap_in_tag("carry-over", ""))
_SHARES = {
    "latest": 0.2,
    "first": 0.15,
    "instructions": 0.25,
    "tasks": 0.15,
    "next": 0.1,
    "files": 0.15,
    "messages": 0.0,
}
"""Guaranteed shares, in the order in which unused room is assigned."""
_PART_FOR_IDS, _LEAST_FOR_IDS = 0.05, 120
_ORDERS = "Instructions that hold"
_MESSAGES = "Other messages of the user"
_TASKS = "Open tasks"
_GAP = len("\n\n")
_NO_LIMIT = 1 << 60


class CarryOverText(Record):
    """A carry-over that fits, and its text."""

    carried: CarryOver
    text: str


def fit_carry_over(carried: CarryOver, files: FileLists, tokens: int) -> CarryOverText:
    """Return as much of ``carried`` and ``files`` as fits, with ids for the rest."""
    budget = tokens * CHARACTERS_PER_TOKEN
    carried = replace(carried, messages=_worth_repeating(carried))
    if budget < _MIN_ROOM:  # keep the carry-over itself: a later window may be larger
        remembered = _filled(carried, files, _REMEMBERED).carried
        return CarryOverText(carried=remembered, text=_in_brief(carried, files, budget))
    return _filled(carried, files, budget - _FRAME)


def allot_tokens(needs: dict[str, int], budget: int) -> dict[str, int]:
    """Return the budget of each section: its need or its share, then unused room in order."""
    granted = {name: min(need, int(_SHARES[name] * budget)) for name, need in needs.items()}
    remaining = budget - sum(granted.values())
    for name in _SHARES:
        more = min(needs[name] - granted[name], remaining)
        granted[name] += more
        remaining -= more
    return granted


def _filled(carried: CarryOver, files: FileLists, budget: int) -> CarryOverText:
    for_ids = min(budget // 3, max(_LEAST_FOR_IDS, int(_PART_FOR_IDS * budget)))
    sections = _Sections(carried, files, allot_tokens(_needs(carried, files), budget - for_ids))
    unshown = (*carried.unshown, *sections.lost(carried))
    carried_over = replace(sections.carried, unshown=tuple(dict.fromkeys(unshown))[-MAX_UNSHOWN:])
    ids = _ids(carried_over.unshown, budget - sum(sections.lengths().values()))
    body = "\n\n".join(filter(None, (_LEAD, *sections.texts.values(), ids)))
    block = wrap_in_tag("carry-over", body) if body != _LEAD else ""
    return CarryOverText(
        carried=carried_over, text="\n\n".join(filter(None, (block, sections.files)))
    )


def _in_brief(carried: CarryOver, files: FileLists, budget: int) -> str:
    """Return the short form for a tiny window: instructions, tasks, ids of lost ones, files."""
    remaining = budget - _BARE_FRAME
    orders, orders_text = _listed(_ORDERS, carried.instructions, remaining)
    remaining -= len(orders_text) + _GAP
    tasks, tasks_text = _listed(_TASKS, carried.tasks, remaining, mark="[ ] ")
    remaining -= len(tasks_text) + _GAP
    required = (*carried.instructions, *carried.tasks)
    lost = dict.fromkeys(quote.id for quote in required if quote not in (*orders, *tasks))
    body = "\n\n".join(filter(None, (orders_text, tasks_text, _ids(tuple(lost), remaining))))
    block = wrap_in_tag("carry-over", body) if body else ""
    return "\n\n".join(filter(None, (block, file_blocks(files, budget - len(block) - _GAP))))


def _needs(carried: CarryOver, files: FileLists) -> dict[str, int]:
    everything = _Sections(carried, files, dict.fromkeys(_SHARES, _NO_LIMIT)).lengths()
    # All of them: those inside a truncated message need their own line.
    orders = _listed(_ORDERS, carried.instructions, _NO_LIMIT)[1]
    return {**everything, "instructions": len(orders) + _GAP if orders else 0}


class _Sections:
    """The sections within their budgets, and the facts that they show."""

    def __init__(self, carried: CarryOver, files: FileLists, budgets: dict[str, int]) -> None:
        first, first_text = _quoted("First request", carried.first, budgets["first"])
        latest, latest_text = _quoted("Latest request", carried.latest, budgets["latest"])
        messages, messages_text = _listed(_MESSAGES, carried.messages, budgets["messages"])
        complete = [quote for quote in (first, latest) if quote and quote.whole]
        unquoted = [order for order in carried.instructions if not _is_quoted(order, complete)]
        orders, orders_text = _listed(_ORDERS, unquoted, budgets["instructions"])
        tasks, tasks_text = _listed(_TASKS, carried.tasks, budgets["tasks"], mark="[ ] ")
        step, step_text = _quoted(_ahead(carried), carried.next_action, budgets["next"])
        self.texts = {
            "first": first_text,
            "messages": messages_text,
            "latest": latest_text,
            "instructions": orders_text,
            "tasks": tasks_text,
            "next": step_text,
        }
        self.files = file_blocks(files, budgets["files"] - _GAP)
        self.carried = CarryOver(
            first=first,
            latest=latest,
            messages=messages,
            instructions=tuple(
                order
                for order in carried.instructions
                if _is_quoted(order, complete) or order in orders
            ),
            tasks=tasks,
            next_action=step,
        )

    def lengths(self) -> dict[str, int]:
        """Return the length of each section, separator included."""
        texts = {**self.texts, "files": self.files}
        return {name: len(text) + _GAP if text else 0 for name, text in texts.items()}

    def lost(self, complete: CarryOver) -> list[str]:
        """Return the entries that ``complete`` quotes more completely than these sections."""
        quoted = set(_quotes(self.carried))
        return [quote.id for quote in _quotes(complete) if quote not in quoted]


def _is_quoted(order: Quote, quotes: Sequence[Quote]) -> bool:
    """Whether a quoted message contains an instruction.

    The id alone is not enough: all facts of a hand-off have the id of its document.
    """
    return any(quote.id == order.id and order.text in quote.text for quote in quotes)


def _quotes(carried: CarryOver) -> list[Quote]:
    single = (carried.first, carried.latest, carried.next_action)
    several = (*carried.messages, *carried.instructions, *carried.tasks)
    return [quote for quote in (*single, *several) if quote is not None]


def _ahead(carried: CarryOver) -> str:
    announced = carried.next_action is not None and carried.next_action.announced
    return "Next action, as announced" if announced else "End of the last answer"


def _worth_repeating(carried: CarryOver) -> tuple[Quote, ...]:
    """Return the messages that are not already shown as instructions."""
    orders = {same_words(order.text) for order in carried.instructions}
    return tuple(quote for quote in carried.messages if same_words(quote.text) not in orders)


def _quoted(heading: str, quote: Q | None, budget: int) -> tuple[Q | None, str]:
    if quote is None:
        return None, ""
    title = f"## {heading} [entry://{quote.id}]\n"
    text = shortened(quote.text, budget - len(title) - _GAP, suffix=f", see entry://{quote.id}")
    shortened_quote = replace(quote, text=text, whole=quote.whole and text == quote.text)
    return shortened_quote, f"{title}{text}" if text else ""


def _listed(
    heading: str, quotes: Sequence[Q], budget: int, *, mark: str = ""
) -> tuple[tuple[Q, ...], str]:
    """Return the newest quotes that fit, in order."""
    title = f"## {heading}"
    remaining = budget - len(title) - _GAP
    fitting: list[tuple[Q, str]] = []
    for quote in reversed(quotes):
        line = f"\n- {mark}{quote.text} [entry://{quote.id}]"
        if len(quote.text) > MAX_MESSAGE or len(line) > remaining:
            continue
        remaining -= len(line)
        fitting.append((quote, line))
    fitting.reverse()
    text = title + "".join(line for _, line in fitting) if fitting else ""
    return tuple(quote for quote, _ in fitting), text


def _ids(unshown: Sequence[str], budget: int) -> str:
    """Return the newest ids that fit."""
    if not unshown:
        return ""
    title = "## More, readable as entry://ID\nEntries:"
    remaining = budget - len(title) - _GAP - len(f" and {len(unshown)} older ones")
    fitting: list[str] = []
    for id in reversed(unshown):
        remaining -= len(id) + 1
        if remaining < 0:
            break
        fitting.append(id)
    if not fitting:
        return ""
    fitting.reverse()
    older = len(unshown) - len(fitting)
    return " ".join((title, *fitting, *([f"and {older} older ones"] if older else [])))

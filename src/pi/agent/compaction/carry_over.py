"""What survives every compaction, whatever the summarising model writes.

The first and the latest message of the person word for word, orders that last, open tasks and the
next action are collected from the conversation itself and handed from one compaction to the next
in its details. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

import msgspec

from pi.agent.compaction.boundaries import SUMMARY_TAGS, defused
from pi.agent.compaction.items import Item
from pi.agent.compaction.serialisation import plain_text
from pi.agent.compaction.statements import (
    Task,
    announced_step,
    last_words,
    listed_tasks,
    same_words,
    standing_instructions,
    written_tasks,
)
from pi.ai.json_text import without_surrogates
from pi.ai.messages import AssistantMessage, Json, ToolResultMessage, UserMessage
from pi.base.records import Record, replace


class Quote(Record):
    """Words, and the entry they are from."""

    id: str
    text: str
    whole: bool = True
    """Whether these are all the words that were to be kept; the entry has the rest."""


Q = TypeVar("Q", bound=Quote)


class OpenTask(Quote):
    """A task that nobody has ticked off."""

    source: str = ""
    """The tool that keeps it; empty when it was written in a message."""


class NextAction(Quote):
    """What was to be done next."""

    announced: bool = False
    """Whether the text said so; otherwise these are just the last words of an answer."""


class CarryOver(Record):
    """What is handed on, oldest first in each list."""

    first: Quote | None = None
    latest: Quote | None = None
    messages: tuple[Quote, ...] = ()
    """What the person said between the first and the latest message."""
    instructions: tuple[Quote, ...] = ()
    tasks: tuple[OpenTask, ...] = ()
    next_action: NextAction | None = None
    unshown: tuple[str, ...] = ()
    """Entries that no longer fit and can be read back."""


def carry_over_in(details: Json) -> CarryOver | None:
    """What an earlier compaction handed on; ``None`` when another program wrote it."""
    try:
        return msgspec.convert(details.get("carryOver"), CarryOver)
    except msgspec.ValidationError:
        return None


def collected(earlier: CarryOver, items: Sequence[Item]) -> CarryOver:
    """``earlier`` and what ``items``, which came after it, add, replace and settle."""
    collection = _Collection(earlier)
    for item in items:
        match item.message:
            case UserMessage() as said if item.role == "user":
                collection.person_said(Quote(id=item.id, text=_clean(plain_text(said.content))))
            case AssistantMessage() as answer:
                collection.answered(Quote(id=item.id, text=_clean(answer.text)))
            case ToolResultMessage(details=dict() as details, is_error=False) as result:
                collection.tool_listed(item.id, result.tool_name, listed_tasks(details))
            case _:
                pass
    return collection.carry_over()


def without_visible(carried: CarryOver, visible: Iterable[str]) -> CarryOver:
    """``carried`` without what stands in entries that the model is still shown."""
    seen = frozenset(visible)

    def hidden(quotes: tuple[Q, ...]) -> tuple[Q, ...]:
        return tuple(quote for quote in quotes if quote.id not in seen)

    def if_hidden(quote: Q | None) -> Q | None:
        return None if quote is None or quote.id in seen else quote

    return CarryOver(
        first=if_hidden(carried.first),
        latest=if_hidden(carried.latest),
        messages=hidden(carried.messages),
        instructions=hidden(carried.instructions),
        tasks=hidden(carried.tasks),
        next_action=if_hidden(carried.next_action),
        unshown=carried.unshown,
    )


def _clean(text: str) -> str:
    """Words as they will stand in a summary, which they must not be able to end."""
    return defused(without_surrogates(text), SUMMARY_TAGS).strip()


class _Collection:
    """A carry-over while it is being collected."""

    def __init__(self, earlier: CarryOver) -> None:
        self._carried = earlier
        self._messages = list(earlier.messages)
        self._instructions = {same_words(quote.text): quote for quote in earlier.instructions}
        self._tasks = {same_words(task.text): task for task in earlier.tasks}

    def person_said(self, quote: Quote) -> None:
        if not quote.text:
            return
        self._remember(quote)
        for order in standing_instructions(quote.text):
            key = same_words(order)
            self._instructions.pop(key, None)  # said again: it counts from here on
            self._instructions[key] = Quote(id=quote.id, text=order)
        self._note(quote)

    def answered(self, quote: Quote) -> None:
        if not quote.text:
            return
        self._note(quote)
        current = self._carried.next_action
        if current is None or not current.announced:
            words = NextAction(id=quote.id, text=last_words(quote.text))
            self._carried = replace(self._carried, next_action=words)

    def tool_listed(self, id: str, tool: str, tasks: Sequence[Task]) -> None:
        """A tool tells its whole list: what it told before no longer counts."""
        self._tasks = {key: task for key, task in self._tasks.items() if task.source != tool}
        for task in tasks:
            self._settle(id, replace(task, text=_clean(task.text)), source=tool)

    def carry_over(self) -> CarryOver:
        return replace(
            self._carried,
            messages=tuple(self._messages),
            instructions=tuple(self._instructions.values()),
            tasks=tuple(self._tasks.values()),
        )

    def _remember(self, quote: Quote) -> None:
        if self._carried.first is None:
            self._carried = replace(self._carried, first=quote)
            return
        if self._carried.latest is not None:
            self._messages.append(self._carried.latest)
        self._carried = replace(self._carried, latest=quote)

    def _note(self, quote: Quote) -> None:
        """The tasks and the next action that a text names."""
        for task in written_tasks(quote.text):
            self._settle(quote.id, task)
        if step := announced_step(quote.text):
            action = NextAction(id=quote.id, text=step, announced=True)
            self._carried = replace(self._carried, next_action=action)

    def _settle(self, id: str, task: Task, *, source: str = "") -> None:
        key = same_words(task.text)
        self._tasks.pop(key, None)
        if task.open:
            self._tasks[key] = OpenTask(id=id, text=task.text, source=source)

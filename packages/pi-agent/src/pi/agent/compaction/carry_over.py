"""Facts that survive every compaction, whatever the summarising model writes.

The first and the latest user message verbatim, standing instructions, open tasks and the next
action are collected from the conversation itself, by wording and without a model, and stored in the
details of each compaction. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import msgspec

from pi.agent.compaction.budget import CompactionItem
from pi.agent.compaction.text import SUMMARY_TAGS, cleaned, plain_text, shortened
from pi.ai.messages import AssistantMessage, Json, ToolResultMessage, UserMessage
from pi.base.records import Record, replace

MAX_SENTENCE = 400
MAX_SENTENCES = 8
"""Maximum number of instructions taken from one message: a pasted manual has hundreds."""
MAX_STEP = 600

_STANDING = r"""\b(?:
      always | never | must(?:n['’]t)? | do\ not | don['’]t | from\ now\ on | remember
    | make\ sure | ensure | prefer | avoid | keep\ in\ mind | under\ no\ circumstances
    | at\ all\ times | whenever | every\ time | only\ use | stick\ to | as\ a\ rule | important
    | forbidden | not\ allowed | ask\ (?:me\ )?(?:first|before) | without\ (?:asking|permission)
    | instead\ of | no\ longer | until\ I\ (?:say|tell) | rules? | requirements? | constraints?
    | conventions? | instructions? | required | mandatory | shall | may\ not | no\ matter
    )\b
    | ^\W*(?:please\ )?(?:use|keep|follow|reply|respond|answer)\b"""
_FENCE = r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)"
_SENTENCE_END = r"(?<=[.!?。！？])\s+|\n+"
_BULLET = r"^\s*(?:[-*+>#]+|\d+[.)])\s+"

_CHECKBOX = r"(?:(?:[-*+]|\d+[.)])\s+)?\[([ xX>/~-])\]\s+(.+)"
_TODO = r"(?:[-*+]\s+)?(?:TODO|Open task):\s*(.+)"
_OPEN_MARKS = " >/"
_TASK_TEXTS = ("content", "text", "title", "task")
_DONE_FLAGS = ("done", "completed")
_DONE_BY_STATE = {
    **dict.fromkeys(("pending", "in_progress", "blocked", "todo"), False),
    **dict.fromkeys(("completed", "abandoned", "done", "cancelled"), True),
}

_NEXT = r"""
      ^[ \t#>*_-]*(?:the\ |my\ |our\ )?next(?:\ (?:steps?|actions?|task|up))?
      [*_ ]*:[*_]*(?P<said>.*)$
    | ^\#+[ \t]*next\ (?:steps?|actions?)[ \t]*$
    | \b(?:next|now|then),?\ (?:I|we)
      (?P<promise>['’]ll|\ will|\ shall|['’]m\ going\ to|\ am\ going\ to)\b.*$
    """


class Task(Record):
    """A task in its original wording."""

    text: str
    open: bool


def standing_instructions(text: str) -> list[str]:
    """Return the sentences with lasting instructions, verbatim; code is not searched."""
    prose = re.sub(_FENCE, "\n", text, flags=re.DOTALL | re.MULTILINE)
    sentences = []
    for sentence in re.split(_SENTENCE_END, prose):
        if match := re.search(_STANDING, sentence, re.IGNORECASE | re.VERBOSE):
            sentences.append(
                _truncated_around(re.sub(_BULLET, "", sentence).strip(), match.start())
            )
    return sentences[:MAX_SENTENCES]


def written_tasks(text: str) -> list[Task]:
    """Return tasks from check boxes and ``TODO:`` lines in order; a ticked box is done."""
    tasks = []
    for line in map(str.strip, text.splitlines()):
        if box := re.match(_CHECKBOX, line):
            tasks.append(Task(text=box[2], open=box[1] in _OPEN_MARKS))
        elif noted := re.match(_TODO, line, re.IGNORECASE):
            tasks.append(Task(text=noted[1], open=True))
    return tasks


def listed_tasks(details: Any, depth: int = 4) -> list[Task]:
    """Return tasks from the output of a to-do tool: objects with text and state, at any depth."""
    match details:
        case dict() if (task := _described_task(details)) is not None:
            return [task]
        case dict() | list() if depth:
            inner = details.values() if isinstance(details, dict) else details
            return [task for value in inner for task in listed_tasks(value, depth - 1)]
        case _:
            return []


def _described_task(item: Json) -> Task | None:
    """Return the task of an object such as ``{content, status}`` or ``{text, done}``."""
    texts = (item.get(name) for name in _TASK_TEXTS)
    text = next((text for text in texts if isinstance(text, str)), None)
    flags = (item.get(name) for name in _DONE_FLAGS)
    done = next((flag for flag in flags if isinstance(flag, bool)), None)
    if done is None and isinstance(state := item.get("status"), str):
        done = _DONE_BY_STATE.get(state)
    return None if text is None or done is None else Task(text=text, open=not done)


def announced_step(text: str) -> str | None:
    """Return the last passage that announces the next step, verbatim."""
    flags = re.IGNORECASE | re.MULTILINE | re.VERBOSE
    matches = list(re.finditer(_NEXT, text, flags))
    if not matches:
        return None
    last = matches[-1]
    passages = re.split(r"\n\s*\n", text[last.start() :].strip())
    is_heading = not (last["said"] or last["promise"] or "").strip()
    if is_heading and "\n" not in passages[0]:  # the announcement follows an empty line
        passages[0] = "\n".join(passages[:2])
    return shortened(passages[0], MAX_STEP)


def last_words(text: str) -> str:
    """Return the last paragraph: where a response states what it needs."""
    return shortened(re.split(r"\n\s*\n", text.strip())[-1], MAX_STEP)


def same_words(text: str) -> str:
    """Return a key that is equal for two spellings of one sentence."""
    return " ".join(text.casefold().split()).strip("*_`.!;:, ")


def _truncated_around(sentence: str, match_start: int) -> str:
    """Truncate a very long sentence around the match."""
    if len(sentence) <= MAX_SENTENCE:
        return sentence
    start = max(0, min(match_start - MAX_SENTENCE // 4, len(sentence) - MAX_SENTENCE))
    return sentence[start : start + MAX_SENTENCE]


class Quote(Record):
    """Quoted text and the id of its entry."""

    id: str
    text: str
    whole: bool = True
    """Whether the quote is complete; the entry has the rest."""


Q = TypeVar("Q", bound=Quote)


class OpenTask(Quote):
    """A task that is not done."""

    source: str = ""
    """The tool that reported it; empty if it was written in a message."""


class NextAction(Quote):
    """The next step."""

    announced: bool = False
    """Whether the text announced it; otherwise it is the last paragraph of a response."""


class CarryOver(Record):
    """The facts to carry over, oldest first in each list."""

    first: Quote | None = None
    latest: Quote | None = None
    messages: tuple[Quote, ...] = ()
    """User messages between the first and the latest."""
    instructions: tuple[Quote, ...] = ()
    tasks: tuple[OpenTask, ...] = ()
    next_action: NextAction | None = None
    unshown: tuple[str, ...] = ()
    """Entries that no longer fit and can be read back."""


def carry_over_in(details: Json) -> CarryOver | None:
    """Return the carry-over of an earlier compaction; ``None`` if another program wrote it."""
    try:
        return msgspec.convert(details.get("carryOver"), CarryOver)
    except msgspec.ValidationError:
        return None


def collected(earlier: CarryOver, items: Sequence[CompactionItem]) -> CarryOver:
    """Return ``earlier`` updated with ``items``, which follow it."""
    collection = _Collection(earlier)
    for item in items:
        if item.role == "custom" and (handed := carry_over_in(item.details or {})) is not None:
            collection.add_handed_over(item.id, handed)
            continue
        match item.message:
            case UserMessage() as message if item.role == "user":
                collection.add_user_message(
                    Quote(id=item.id, text=_clean(plain_text(message.content)))
                )
            case AssistantMessage() as answer:
                collection.add_answer(Quote(id=item.id, text=_clean(answer.text)))
            case ToolResultMessage(details=dict() as details, is_error=False) as result:
                collection.add_listed_tasks(item.id, result.tool_name, listed_tasks(details))
            case _:
                pass
    return collection.carry_over()


def without_visible(carried: CarryOver, visible: Iterable[str]) -> CarryOver:
    """Return ``carried`` without facts from entries that the model still sees."""
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
    """Return the text with our tags escaped, so that it cannot end a summary."""
    return cleaned(text, SUMMARY_TAGS).strip()


class _Collection:
    """A carry-over while it is collected."""

    def __init__(self, earlier: CarryOver) -> None:
        self._carried = earlier
        self._messages = list(earlier.messages)
        self._instructions = {same_words(quote.text): quote for quote in earlier.instructions}
        self._tasks = {same_words(task.text): task for task in earlier.tasks}

    def add_user_message(self, quote: Quote) -> None:
        if not quote.text:
            return
        self._remember(quote)
        for order in standing_instructions(quote.text):
            key = same_words(order)
            self._instructions.pop(key, None)  # repeated: it counts from here on
            self._instructions[key] = Quote(id=quote.id, text=order)
        self._note(quote)

    def add_handed_over(self, id: str, handed: CarryOver) -> None:
        """Add the facts that a hand-off brought from another session.

        They count as facts of its message: the ids of the other session mean nothing here.
        """

        def with_own_id(quotes: tuple[Q, ...]) -> list[Q]:
            return [replace(quote, id=id) for quote in quotes]

        messages = [quote for quote in (handed.first, *handed.messages, handed.latest) if quote]
        for quote in with_own_id(tuple(messages)):
            self._remember(quote)
        self._instructions |= {
            same_words(quote.text): quote for quote in with_own_id(handed.instructions)
        }
        self._tasks |= {same_words(quote.text): quote for quote in with_own_id(handed.tasks)}
        if handed.next_action is not None:
            action = replace(handed.next_action, id=id)
            self._carried = replace(self._carried, next_action=action)

    def add_answer(self, quote: Quote) -> None:
        if not quote.text:
            return
        self._note(quote)
        current = self._carried.next_action
        if current is None or not current.announced:
            action = NextAction(id=quote.id, text=last_words(quote.text))
            self._carried = replace(self._carried, next_action=action)

    def add_listed_tasks(self, id: str, tool: str, tasks: Sequence[Task]) -> None:
        """Replace the tasks of a tool: it always reports its complete list."""
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
        """Record the tasks and the next action in a text."""
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

"""What a text says that must not be forgotten: orders that last, open tasks, the next step.

Found by wording, without a model, so that it is found every time. Pure.
"""

from __future__ import annotations

import re
from typing import Any

from pi.agent.compaction.shortening import shortened
from pi.ai.messages import Json
from pi.base.records import Record

MOST_OF_A_SENTENCE = 400
MOST_SENTENCES = 8
"""Orders that are taken from one message: a pasted manual has hundreds."""
MOST_OF_A_STEP = 600

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
    """Something to do, as it was written down."""

    text: str
    open: bool


def standing_instructions(text: str) -> list[str]:
    """The sentences that hold beyond the moment, word for word; code is not searched."""
    prose = re.sub(_FENCE, "\n", text, flags=re.DOTALL | re.MULTILINE)
    found = []
    for sentence in re.split(_SENTENCE_END, prose):
        if match := re.search(_STANDING, sentence, re.IGNORECASE | re.VERBOSE):
            found.append(_around(re.sub(_BULLET, "", sentence).strip(), match.start()))
    return found[:MOST_SENTENCES]


def written_tasks(text: str) -> list[Task]:
    """Tasks from check boxes and ``TODO:`` lines, in order; a ticked box is a task that is done."""
    tasks = []
    for line in map(str.strip, text.splitlines()):
        if box := re.match(_CHECKBOX, line):
            tasks.append(Task(text=box[2], open=box[1] in _OPEN_MARKS))
        elif noted := re.match(_TODO, line, re.IGNORECASE):
            tasks.append(Task(text=noted[1], open=True))
    return tasks


def listed_tasks(details: Any, depth: int = 4) -> list[Task]:
    """Tasks from what a to-do tool reports: objects with words and a state, anywhere."""
    match details:
        case dict() if (task := _described_task(details)) is not None:
            return [task]
        case dict() | list() if depth:
            inner = details.values() if isinstance(details, dict) else details
            return [task for value in inner for task in listed_tasks(value, depth - 1)]
        case _:
            return []


def _described_task(item: Json) -> Task | None:
    """The task of an object such as ``{content, status}`` or ``{text, done}``."""
    texts = (item.get(name) for name in _TASK_TEXTS)
    text = next((text for text in texts if isinstance(text, str)), None)
    flags = (item.get(name) for name in _DONE_FLAGS)
    done = next((flag for flag in flags if isinstance(flag, bool)), None)
    if done is None and isinstance(state := item.get("status"), str):
        done = _DONE_BY_STATE.get(state)
    return None if text is None or done is None else Task(text=text, open=not done)


def announced_step(text: str) -> str | None:
    """The last passage that says what comes next, word for word."""
    flags = re.IGNORECASE | re.MULTILINE | re.VERBOSE
    matches = list(re.finditer(_NEXT, text, flags))
    if not matches:
        return None
    last = matches[-1]
    passages = re.split(r"\n\s*\n", text[last.start() :].strip())
    is_heading = not (last["said"] or last["promise"] or "").strip()
    if is_heading and "\n" not in passages[0]:  # what it announces stands after an empty line
        passages[0] = "\n".join(passages[:2])
    return shortened(passages[0], MOST_OF_A_STEP)


def last_words(text: str) -> str:
    """The last paragraph: where an answer says what it wants."""
    return shortened(re.split(r"\n\s*\n", text.strip())[-1], MOST_OF_A_STEP)


def same_words(text: str) -> str:
    """The key under which two writings of one sentence are the same."""
    return " ".join(text.casefold().split()).strip("*_`.!;:, ")


def _around(sentence: str, at: int) -> str:
    """A very long sentence, cut to the neighbourhood of what was found in it."""
    if len(sentence) <= MOST_OF_A_SENTENCE:
        return sentence
    start = max(0, min(at - MOST_OF_A_SENTENCE // 4, len(sentence) - MOST_OF_A_SENTENCE))
    return sentence[start : start + MOST_OF_A_SENTENCE]

"""Adapts the history to the target model. Pure.

A conversation may come from other models, be cut off, or edited. Every provider refuses some of
that: a foreign signature, a call without a result, an id in the wrong alphabet. The result is valid
for the target, and equal input gives equal output, so that prompt caches hold.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from typing import TypeAlias, TypeVar

from msgspec import UNSET

from pi.ai.kept import Beginning, KeptConversions
from pi.ai.messages import (
    AssistantMessage,
    Image,
    Message,
    Text,
    Thinking,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from pi.ai.models.model import Model
from pi.base.records import replace

NO_RESULT = "No result provided"
NO_OUTPUT = "(no tool output)"
"""For wires that refuse an empty result."""
NO_IMAGES = "(image omitted: model does not support images)"
IMAGES_FOLLOW = "Attached image(s) from tool result:"
"""For wires on which pictures follow the results, which cannot contain them."""

MAX_ID_LENGTH = 64
"""Maximum length of a tool-call id that every wire accepts."""

M = TypeVar("M", bound=Message)

MakeId: TypeAlias = Callable[[str, AssistantMessage], str]
"""Returns the target's form of a tool-call id, given the message that holds the call."""

_ODD_IN_ID = r"[^A-Za-z0-9_-]"


def prepare(
    messages: Sequence[Message],
    model: Model,
    make_id: MakeId,
    kept: KeptConversions | None = None,
) -> tuple[Message, ...]:
    """Return ``messages`` in a form that ``model`` accepts: see the module's description.

    A message that needs no change is returned as it is. With ``kept``, messages before the last
    answer are prepared once for all requests: their results are settled, so nothing changes them.
    """
    handoff, start = _Handoff(model, make_id), 0
    if kept is not None:
        beginning = kept.beginning("prepared", model, messages)
        if beginning is not None:
            handoff, start = beginning.converted, beginning.length
        if (cut := last_answer(messages, model)) > start:
            handoff = handoff.copy()
            handoff.add(messages[start:cut])
            handoff.settle()
            start = cut
            kept.keep("prepared", Beginning(model, messages[: cut + 1], handoff))
        handoff = handoff.copy()
    handoff.add(messages[start:])
    handoff.settle()
    return tuple(handoff.prepared)


def last_answer(messages: Sequence[Message], model: Model) -> int:
    """Return the index of the last answer that is sent to ``model``; 0 if there is none."""
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if not isinstance(message, AssistantMessage) or _ended_early(message):
            continue
        if _adapt(message, model) is not None:
            return index
    return 0


def is_own(message: AssistantMessage, model: Model) -> bool:
    """Whether ``model`` itself wrote ``message``, so that its signatures are valid."""
    return (message.provider, message.api, message.model) == (model.provider, model.api, model.id)


def own_level(message: Message, model: Model) -> str | None:
    """Return the effort with which ``model`` wrote ``message``, if it is recorded."""
    if not isinstance(message, AssistantMessage) or not is_own(message, model):
        return None
    level = message.provider_thinking_level
    return level if isinstance(level, str) else None


def same_id(identifier: str, _: AssistantMessage) -> str:
    """Return ``identifier`` unchanged, for wires that accept any tool-call id."""
    return identifier


def plain_id(identifier: str, _: AssistantMessage) -> str:
    """Return an id of letters, digits, ``_`` and ``-``, at most ``MAX_ID_LENGTH`` long."""
    return re.sub(_ODD_IN_ID, "_", identifier)[:MAX_ID_LENGTH]


def unique_id(identifier: str, used: set[str], counts: dict[str, int] | None = None) -> str:
    """Return ``identifier`` or a variant that is not in ``used``, and add it there.

    ``counts`` has the last number of each id: some servers use one id for every call, and trying
    all numbers each time takes seconds in a long conversation.
    """
    base = identifier or "call"
    candidate, count = base, 1 if counts is None else counts.get(base, 1)
    while candidate in used:
        count += 1
        suffix = f"_{count}"
        candidate = base[: MAX_ID_LENGTH - len(suffix)] + suffix
    if counts is not None and count > 1:
        counts[base] = count
    used.add(candidate)
    return candidate


def _ended_early(message: Message) -> bool:
    return isinstance(message, AssistantMessage) and message.stop_reason in ("error", "aborted")


def _adapt(message: AssistantMessage, model: Model) -> AssistantMessage | None:
    """Return an answer for ``model``; ``None`` if nothing of it is left."""
    blocks = [block for block in message.content if _has_name(block)]
    if not is_own(message, model):
        blocks = [plain for block in blocks if (plain := _without_secrets(block))]
    elif len(blocks) == len(message.content):
        return message
    if message.content and not blocks:
        return None  # all of it was thoughts of another model
    return replace(message, content=tuple(blocks))


def _has_name(block: Text | Thinking | ToolCall) -> bool:
    """Whether a call has a name: without one it would be refused on every later turn."""
    return not isinstance(block, ToolCall) or bool(block.name)


def _without_secrets(block: Text | Thinking | ToolCall) -> Text | ToolCall | None:
    """Return a foreign block without signatures that only its own provider understands.

    Thoughts of another model are left out: as text they read like a part of its answer.
    """
    match block:
        case Thinking():
            return None
        case Text():
            return replace(block, text_signature=UNSET)
        case ToolCall():
            return replace(block, thought_signature=UNSET)


def without_images(message: M, placeholder: str = NO_IMAGES) -> M:
    """Return ``message`` with ``placeholder`` instead of every picture."""
    match message:
        case UserMessage(content=tuple(blocks)) | ToolResultMessage(content=blocks):
            if not any(isinstance(block, Image) for block in blocks):
                return message
            replaced = (
                Text(text=placeholder) if isinstance(block, Image) else block for block in blocks
            )
            return replace(message, content=tuple(replaced))
        case _:
            return message


class _Handoff:
    """Prepares messages one after the other.

    Every call gets a unique id that the target accepts, and exactly one result, in the order of the
    calls' batch. A result belongs to the latest earlier call with its id, which matters where a
    server used the same id twice; a second one for the same call is dropped, as is one without a
    call. Messages between a call and its result are moved behind the results.
    """

    def __init__(self, model: Model, make_id: MakeId) -> None:
        self.prepared: list[Message] = []
        self._model = model
        self._make_id = make_id
        self._current: dict[str, str] = {}
        """The new id of the latest call with an id."""
        self._used: set[str] = set()
        self._counts: dict[str, int] = {}
        self._waiting: dict[str, ToolCall] = {}
        self._results: list[ToolResultMessage] = []
        self._delayed: list[Message] = []

    def copy(self) -> _Handoff:
        """Return a copy of a settled hand-off."""
        other = _Handoff(self._model, copy(self._make_id))
        other.prepared = self.prepared.copy()
        other._current = self._current.copy()
        other._used = self._used.copy()
        other._counts = self._counts.copy()
        return other

    def add(self, messages: Iterable[Message]) -> None:
        """Prepare messages."""
        for message in messages:
            match message:
                case AssistantMessage():
                    adapted = None if _ended_early(message) else _adapt(message, self._model)
                    if adapted is not None:
                        self._add_answer(adapted)
                case ToolResultMessage(tool_call_id=old):
                    id = self._current.get(old)
                    if id is not None and self._waiting.pop(id, None) is not None:
                        result = self._seen(message)
                        renamed = result if id == old else replace(result, tool_call_id=id)
                        self._results.append(renamed)
                case _ if self._waiting:
                    self._delayed.append(self._seen(message))
                case _:
                    self.settle()
                    self.prepared.append(self._seen(message))

    def settle(self) -> None:
        """End a batch of calls."""
        if self._results or self._waiting or self._delayed:
            self.prepared += self._results
            self.prepared += map(_missing_result, self._waiting.values())
            self.prepared += self._delayed
            self._waiting, self._results, self._delayed = {}, [], []

    def _seen(self, message: M) -> M:
        return message if self._model.sees_images else without_images(message)

    def _add_answer(self, answer: AssistantMessage) -> None:
        self.settle()
        calls = [block for block in answer.content if isinstance(block, ToolCall)]
        if calls:
            renamed = [self._renamed(call, answer) for call in calls]
            if any(new is not old for new, old in zip(renamed, calls, strict=True)):
                rest = iter(renamed)
                blocks = (
                    next(rest) if isinstance(block, ToolCall) else block for block in answer.content
                )
                answer = replace(answer, content=tuple(blocks))
            self._waiting = {call.id: call for call in renamed}
        self.prepared.append(answer)

    def _renamed(self, call: ToolCall, answer: AssistantMessage) -> ToolCall:
        id = unique_id(self._make_id(call.id, answer), self._used, self._counts)
        self._current[call.id] = id
        return call if id == call.id else replace(call, id=id)


def _missing_result(call: ToolCall) -> ToolResultMessage:
    return ToolResultMessage(
        tool_call_id=call.id,
        tool_name=call.name,
        content=(Text(text=NO_RESULT),),
        is_error=True,
    )

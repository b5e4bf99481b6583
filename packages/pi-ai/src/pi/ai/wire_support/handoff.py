"""Adapts the history to the target model. Pure.

A conversation may come from other models, be cut off, or edited. Every provider refuses some of
that: a foreign signature, a call without a result, an id in the wrong alphabet. The result is valid
for the target, and equal input gives equal output, so that prompt caches hold.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

from msgspec import UNSET

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

MakeId: TypeAlias = Callable[[str, AssistantMessage], str]
"""Returns the target's form of a tool-call id, given the message that holds the call."""

_ODD_IN_ID = r"[^A-Za-z0-9_-]"


def prepare(messages: Sequence[Message], model: Model, make_id: MakeId) -> tuple[Message, ...]:
    """Return ``messages`` in a form that ``model`` accepts: see the module's description."""
    adapted = (_adapt(message, model) for message in messages if not _ended_early(message))
    kept = (message for message in adapted if message is not None)
    return tuple(pair_results(_rename_calls(kept, make_id)))


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


def unique_id(identifier: str, used: set[str]) -> str:
    """Return ``identifier`` or a variant that is not in ``used``, and add it there."""
    base = identifier or "call"
    candidate, count = base, 1
    while candidate in used:
        count += 1
        suffix = f"_{count}"
        candidate = base[: MAX_ID_LENGTH - len(suffix)] + suffix
    used.add(candidate)
    return candidate


def _ended_early(message: Message) -> bool:
    return isinstance(message, AssistantMessage) and message.stop_reason in ("error", "aborted")


def _adapt(message: Message, model: Model) -> Message | None:
    match message:
        case AssistantMessage():
            blocks = [block for block in message.content if _has_name(block)]
            if not is_own(message, model):
                blocks = [plain for block in blocks if (plain := _without_secrets(block))]
            if message.content and not blocks:
                return None  # all of it was thoughts of another model
            return replace(message, content=tuple(blocks))
        case _:
            return message if model.sees_images else without_images(message)


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


def without_images(message: Message, placeholder: str = NO_IMAGES) -> Message:
    """Return ``message`` with ``placeholder`` instead of every picture."""
    match message:
        case UserMessage(content=tuple(blocks)) | ToolResultMessage(content=blocks):
            replaced = (
                Text(text=placeholder) if isinstance(block, Image) else block for block in blocks
            )
            return replace(message, content=tuple(replaced))
        case _:
            return message


def _rename_calls(messages: Iterable[Message], make_id: MakeId) -> Iterator[Message]:
    """Give every call a unique id that the target accepts; results follow.

    A result belongs to the latest earlier call with its id, which matters where a server used the
    same id twice.
    """
    current: dict[str, str] = {}
    used: set[str] = set()
    for message in messages:
        match message:
            case AssistantMessage():
                blocks = []
                for block in message.content:
                    if isinstance(block, ToolCall):
                        renamed = unique_id(make_id(block.id, message), used)
                        current[block.id] = renamed
                        block = replace(block, id=renamed)
                    blocks.append(block)
                yield replace(message, content=tuple(blocks))
            case ToolResultMessage() if message.tool_call_id in current:
                yield replace(message, tool_call_id=current[message.tool_call_id])
            case ToolResultMessage():
                continue  # its call is missing, and no provider accepts a result alone
            case _:
                yield message


def pair_results(messages: Iterable[Message]) -> Iterator[Message]:
    """Put exactly one result behind every call, in the order of the calls' batch.

    Messages between a call and its result are moved behind the results; a second result for the
    same call is dropped.
    """
    waiting: dict[str, ToolCall] = {}
    results: list[ToolResultMessage] = []
    delayed: list[Message] = []

    def settle() -> Iterator[Message]:
        yield from results
        yield from (_missing_result(call) for call in waiting.values())
        yield from delayed
        waiting.clear()
        results.clear()
        delayed.clear()

    for message in messages:
        match message:
            case AssistantMessage():
                yield from settle()
                yield message
                waiting = {call.id: call for call in message.tool_calls}
            case ToolResultMessage():
                if waiting.pop(message.tool_call_id, None) is not None:
                    results.append(message)
            case _ if waiting:
                delayed.append(message)
            case _:
                yield from settle()
                yield message
    yield from settle()


def _missing_result(call: ToolCall) -> ToolResultMessage:
    return ToolResultMessage(
        tool_call_id=call.id,
        tool_name=call.name,
        content=(Text(text=NO_RESULT),),
        is_error=True,
    )

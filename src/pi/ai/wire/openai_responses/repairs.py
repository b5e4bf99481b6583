"""What to leave out of a request that the server refused, so that it is not refused again. Pure.

A repair is noted in the message that it led to, so that a session leaves the same thing out from
the start on its later turns, also after it was resumed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from pi.ai.diagnostics import STRICT_REJECTED, THINKING_REJECTED
from pi.ai.errors import BadRequest
from pi.ai.handoff import is_own
from pi.ai.messages import AssistantMessage, Json, Message, Thinking
from pi.ai.models.model import Model
from pi.base.records import replace

Repairs: TypeAlias = frozenset[str]
"""The types of the diagnostics that note them."""

NO_REPAIRS: Repairs = frozenset()

_REFUSED_THOUGHT = re.compile(r"invalid_encrypted_content|Item (?:with id )?'rs_")
_REFUSED_SCHEMA = re.compile(r"invalid_function_parameters|Invalid schema for function")


def next_repair(refusal: BadRequest, payload: Json) -> str | None:
    """The repair that ``refusal`` asks for, if its cause is in ``payload``."""
    if refusal.status is None:  # it came inside a stream that had begun
        return None
    if _REFUSED_THOUGHT.search(refusal.message):
        items = payload.get("input") or ()
        return THINKING_REJECTED if any(item.get("type") == "reasoning" for item in items) else None
    if _REFUSED_SCHEMA.search(refusal.message):
        tools = payload.get("tools") or ()
        return STRICT_REJECTED if any(tool.get("strict") for tool in tools) else None
    return None


def remembers(messages: Iterable[Message], model: Model, repair: str) -> bool:
    """Whether ``model`` was given an answer of ``messages`` only after ``repair``."""
    return any(_notes(message, model, repair) for message in messages)


def without_refused_thoughts(
    messages: Sequence[Message], model: Model, repairs: Repairs
) -> Sequence[Message]:
    """``messages`` without the thoughts that the server has refused now or on an earlier turn."""
    noted = [at for at, message in enumerate(messages) if _notes(message, model, THINKING_REJECTED)]
    end = len(messages) if THINKING_REJECTED in repairs else max(noted, default=0)
    return (*map(_without_thoughts, messages[:end]), *messages[end:])


def _notes(message: Message, model: Model, repair: str) -> bool:
    if not isinstance(message, AssistantMessage) or not is_own(message, model):
        return False
    return any(note.get("type") == repair for note in message.diagnostics or ())


def _without_thoughts(message: Message) -> Message:
    """An answer as if somebody else had given it: ids of items that stood behind a thought go."""
    if not isinstance(message, AssistantMessage):
        return message
    kept = tuple(block for block in message.content if not isinstance(block, Thinking))
    return replace(message, content=kept, model="")

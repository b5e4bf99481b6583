"""Records that handlers return; a dict of the fields is accepted, too."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from keyword import iskeyword
from typing import Any, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from pi.agent.env import OnOutput
from pi.ai.messages import Image, Json, Message, Text, Usage
from pi.base.records import Record
from pi.coding.extension_host.errors import ExtensionError, check_fields, valid_values
from pi.coding.session.entries import (
    Compaction,
    ContextEdit,
    Custom,
    CustomMessage,
    CustomMessageEntry,
    SessionMessage,
)
from pi.coding.shell.local import BashResult

R = TypeVar("R", bound=Record)


def record_from_fields(kind: type[R], fields: Mapping[str, Any], what: str) -> R:
    """Build a record from its fields; lists become tuples.

    Raises ``ExtensionError`` that begins with ``what`` and lists the valid fields.
    """
    try:
        return kind(**with_tuples(fields))
    except TypeError as error:
        unknown = next((name for name in fields if name not in kind.__struct_fields__), "")
        raise ExtensionError(
            f"{what} is invalid: {error}",
            hint=valid_values(unknown, kind.__struct_fields__, "fields"),
        ) from error


def with_tuples(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Convert lists to tuples: extension authors write lists, records hold tuples."""
    return {name: tuple(v) if isinstance(v, list) else v for name, v in fields.items()}


Draft = Custom | CustomMessageEntry | ContextEdit | Compaction
"""Entries that a boundary may add to the log."""

BLOCKED = "Tool execution was blocked"


class Cancel(Record):
    """Answer to ``session_before_switch`` and ``session_before_fork``."""

    cancel: bool = True
    skip_conversation_restore: bool = False


class BeforeAgentStartAnswer(Record):
    """Answer to ``before_agent_start``."""

    message: CustomMessage | Json | None = None
    """Sent after the prompt."""
    system_prompt: str | None = None
    """Replaces the whole prompt in the requests of this run.

    If it contains ``event.system_prompt``, it adds to the prompt; changes of other handlers to the
    options are kept.
    """


class BoundaryAnswer(Record):
    """Answer to ``turn_end`` and ``agent_before_settle``."""

    entries: tuple[Draft | Json, ...] = ()
    continue_: bool = False
    """Send another request to the model."""


class ContextAnswer(Record):
    """Answer to ``context`` and ``context_with_system``."""

    messages: tuple[Message, ...]


class MessageEndAnswer(Record):
    """Answer to ``message_end``."""

    message: SessionMessage
    """Replaces the message that is about to be stored; must have the same role."""


class Block(Record):
    """Answer to ``tool_call``: the call does not run."""

    reason: str = ""
    block: bool = True
    terminate: bool = False
    """End the run if all calls of the turn have this set."""


class ToolResultAnswer(Record):
    """Answer to ``tool_result``; omitted fields are unchanged."""

    content: tuple[Text | Image, ...] | UnsetType = UNSET
    details: Any | UnsetType = UNSET
    is_error: bool | UnsetType = UNSET
    usage: Usage | UnsetType = UNSET


RunCommand: TypeAlias = Callable[[str, str, OnOutput], Awaitable[BashResult]]
"""``await run(command, cwd, on_text)``: runs a command and reports its output."""


class UserBashAnswer(Record):
    """Answer to ``user_bash``: the result of the command, or another way to run it."""

    result: BashResult | Json | None = None
    operations: RunCommand | None = None


class CacheWarmingAnswer(Record):
    """Answer to ``cache_warming_decision``."""

    action: Literal["warm", "stop"]


def as_answer(kind: type[R], result: object) -> R:
    """Convert a handler's return value to a record.

    Raises ``TypeError`` for another type, and ``ExtensionError`` for an unknown field.
    """
    if isinstance(result, kind):
        return result
    if isinstance(result, Mapping):
        fields = {f"{name}_" if iskeyword(name) else name: value for name, value in result.items()}
        check_fields(kind.__name__, fields, kind.__struct_fields__)
        return kind(**with_tuples(fields))
    raise TypeError(
        f"a handler must return {kind.__name__}, a dict of its fields or None,"
        f" not {type(result).__name__}"
    )


def as_draft(entry: Draft | Json) -> Draft:
    """An entry for the log; a dict has the form of session files."""
    if isinstance(entry, dict):
        draft: Draft = msgspec.convert(entry, Draft)
        return draft
    return entry


def as_custom_message(message: CustomMessage | Mapping[str, Any], *, now_ms: int) -> CustomMessage:
    """A message to the model; a dict has the fields of ``CustomMessage``."""
    if isinstance(message, CustomMessage):
        fields = {name: getattr(message, name) for name in message.__struct_fields__}
    else:
        fields = dict(message)
        if isinstance(fields.get("content"), list):
            fields["content"] = tuple(fields["content"])
        check_fields("a message", fields, CustomMessage.__struct_fields__)
    return CustomMessage(**{**fields, "timestamp": fields.get("timestamp") or now_ms})

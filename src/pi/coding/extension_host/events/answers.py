"""What handlers may give back: records, or dicts of their fields."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from keyword import iskeyword
from typing import Any, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from pi.agent.env import OnOutput
from pi.ai.messages import Image, Json, Message, Text, Usage
from pi.base.records import Record
from pi.coding.extension_host.errors import ExtensionError
from pi.coding.session.entries import (
    Compaction,
    ContextEdit,
    Custom,
    CustomMessage,
    CustomMessageEntry,
    SessionMessage,
)
from pi.coding.shell.local import BashResult

# Records that extensions describe with dicts of their fields.


R = TypeVar("R", bound=Record)


def described(kind: type[R], fields: Mapping[str, Any], what: str) -> R:
    """The record with these fields; ``ExtensionError`` that names those there are, if others.

    ``what`` begins the message. Lists become tuples, which is what records hold.
    """
    try:
        return kind(**with_tuples(fields))
    except TypeError as problem:
        raise ExtensionError(
            f"{what} cannot be understood: {problem}",
            hint=f"Describe it by these names: {', '.join(kind.__struct_fields__)}.",
        ) from problem


def with_tuples(fields: Mapping[str, Any]) -> dict[str, Any]:
    """``fields`` as records hold them: people write lists."""
    return {name: tuple(v) if isinstance(v, list) else v for name, v in fields.items()}


Draft = Custom | CustomMessageEntry | ContextEdit | Compaction
"""What a boundary may add to the log."""

BLOCKED = "Tool execution was blocked"


class Cancel(Record):
    """Answer to ``session_before_switch`` and ``session_before_fork``."""

    cancel: bool = True
    skip_conversation_restore: bool = False


class BeforeAgentStartAnswer(Record):
    """Answer to ``before_agent_start``."""

    message: CustomMessage | Json | None = None
    """Follows what the person said."""
    system_prompt: str | None = None
    """In place of the whole prompt, in the requests of this run only.

    One that holds ``event.system_prompt`` adds to it, whatever other handlers do to the options.
    """


class BoundaryAnswer(Record):
    """Answer to ``turn_end`` and ``agent_before_settle``."""

    entries: tuple[Draft | Json, ...] = ()
    continue_: bool = False
    """Ask the model once more."""


class ContextAnswer(Record):
    """Answer to ``context`` and ``context_with_system``."""

    messages: tuple[Message, ...]


class MessageEndAnswer(Record):
    """Answer to ``message_end``."""

    message: SessionMessage
    """In the place of the one that is about to be kept, and of the same role."""


class Block(Record):
    """Answer to ``tool_call``: the call does not run."""

    reason: str = ""
    block: bool = True
    terminate: bool = False
    """End the run, if all calls of the turn say so."""


class ToolResultAnswer(Record):
    """Answer to ``tool_result``; what it leaves out stays as it was."""

    content: tuple[Text | Image, ...] | UnsetType = UNSET
    details: Any | UnsetType = UNSET
    is_error: bool | UnsetType = UNSET
    usage: Usage | UnsetType = UNSET


RunCommand: TypeAlias = Callable[[str, str, OnOutput], Awaitable[BashResult]]
"""``await run(command, cwd, on_text)``: runs a command somewhere, and tells what it writes."""


class UserBashAnswer(Record):
    """Answer to ``user_bash``: the command has been run already, or is run in another way."""

    result: BashResult | Json | None = None
    operations: RunCommand | None = None


class ResourcesAnswer(Record):
    """Answer to ``resources_discover``."""

    skill_paths: tuple[str, ...] = ()
    prompt_paths: tuple[str, ...] = ()
    theme_paths: tuple[str, ...] = ()


class CacheWarmingAnswer(Record):
    """Answer to ``cache_warming_decision``."""

    action: Literal["warm", "stop"]


def as_answer(kind: type[R], given: object) -> R:
    """What a handler gave, as the record that is wanted; ``TypeError`` if it is none."""
    if isinstance(given, kind):
        return given
    if isinstance(given, Mapping):
        fields = {f"{name}_" if iskeyword(name) else name: value for name, value in given.items()}
        return kind(**with_tuples(fields))
    raise TypeError(
        f"a handler must give {kind.__name__}, a dict of its fields or None,"
        f" not {type(given).__name__}"
    )


def as_draft(given: Draft | Json) -> Draft:
    """An entry for the log; a dict is one in the form of session files."""
    if isinstance(given, dict):
        draft: Draft = msgspec.convert(given, Draft)
        return draft
    return given


def as_custom_message(given: CustomMessage | Mapping[str, Any], *, now_ms: int) -> CustomMessage:
    """What an extension says to the model; a dict has the fields of ``CustomMessage``."""
    if isinstance(given, CustomMessage):
        fields = {name: getattr(given, name) for name in given.__struct_fields__}
    else:
        fields = dict(given)
        if isinstance(fields.get("content"), list):
            fields["content"] = tuple(fields["content"])
    return CustomMessage(**{**fields, "timestamp": fields.get("timestamp") or now_ms})

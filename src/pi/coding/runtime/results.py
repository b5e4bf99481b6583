"""What a session answers when it is asked, in the JSON names of RPC."""

from __future__ import annotations

from pi.ai.models.model import Model, ThinkingLevel
from pi.base.records import UNSET, Record, UnsetType


class SessionState(Record):
    """What a session is at this moment."""

    model: Model | UnsetType = UNSET
    thinking_level: ThinkingLevel
    is_streaming: bool
    is_compacting: bool
    steering_mode: str
    follow_up_mode: str
    session_file: str | UnsetType = UNSET
    session_id: str
    session_name: str | UnsetType = UNSET
    auto_compaction_enabled: bool
    message_count: int
    pending_message_count: int


class CycledModel(Record):
    """The model after cycling to it."""

    model: Model
    thinking_level: ThinkingLevel
    is_scoped: bool


class Replaced(Record):
    """Whether another session took the place of this one."""

    cancelled: bool


class Forked(Record):
    """The words of the message that a fork was made before."""

    text: str
    cancelled: bool


class Navigated(Record):
    """What became of a move in the tree."""

    cancelled: bool = False
    aborted: bool = False
    text: str | None = None
    """What was said at the target, to be said differently."""
    summary_id: str | None = None


class ForkPoint(Record):
    """Something the person said, before which a fork can be made."""

    entry_id: str
    text: str


class Queues(Record):
    """Messages that were taken back from the queues."""

    steering: tuple[str, ...] = ()
    follow_up: tuple[str, ...] = ()

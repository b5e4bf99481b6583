"""What a session answers when it is asked, in the JSON names of RPC."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import UNSET, UnsetType

from pi.agent.tools.tool import AgentTool
from pi.ai.models.model import Model, ThinkingLevel
from pi.ai.provider import Provider
from pi.base.records import Record
from pi.coding.resources.sources import SourceInfo


class Account(Record):
    """A provider, and what is known of the person's credentials for it; never what they are."""

    provider: Provider
    usable: bool
    """Whether requests have credentials to go with, wherever they come from."""
    logged_in: bool = False
    """Whether the store has the tokens of a login."""
    has_key: bool = False
    """Whether the store has a key."""

    @property
    def is_stored(self) -> bool:
        """Whether there is something to forget."""
        return self.logged_in or self.has_key


InputSource: TypeAlias = Literal["interactive", "rpc", "extension"]
Streaming: TypeAlias = Literal["steer", "followUp"]


class SubSession(Record):
    """What a nested session is to do. It inherits model wraps, file layers, guards and trust."""

    prompt: str
    tools: tuple[str, ...] | None = None
    """Names of built-in tools that are on; ``None`` means the usual ones."""
    custom_tools: tuple[AgentTool, ...] = ()
    model: Model | str | None = None
    """Else that of the session."""
    thinking: ThinkingLevel | None = None
    system: str | None = None
    """In place of the whole system prompt."""
    seconds: float | None = None
    """After which it is aborted."""
    turns: int | None = None
    """Answers after which it is aborted, if it does not come to an end by itself."""
    cost: float | None = None
    """Dollars after which it is aborted."""
    cwd: Path | None = None
    extensions: Literal["guards", "all"] | tuple[str, ...] = "guards"
    """Those of the session that are loaded in it as well: none, all, or the ones of these names.

    Those whose manifests say ``sub_sessions = true`` are loaded anyway. All of them guard it in
    any case, so one that is loaded there too is asked there and here.
    """


class Command(Record):
    """One command."""

    name: str
    description: str | UnsetType = UNSET
    source: Literal["extension", "prompt", "skill"]
    source_info: SourceInfo


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

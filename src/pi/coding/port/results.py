"""Records that the port takes and returns, with their RPC field names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import UNSET, UnsetType, field

from pi.agent.policy import Policy
from pi.agent.tools.tool import AgentTool
from pi.ai.messages import Json
from pi.ai.models.model import Model, ThinkingLevel
from pi.ai.provider import Provider
from pi.base.errors import PiError
from pi.base.records import Record
from pi.coding.resources.sources import SourceInfo


class Account(Record):
    """A provider and the state of the user's credentials for it, without their values."""

    provider: Provider
    usable: bool
    """Whether credentials are available from any source."""
    logged_in: bool = False
    """Whether the store has the tokens of a login."""
    has_key: bool = False
    """Whether the store has an API key."""
    source: str = ""
    """Where an extension takes the credentials from; it comes before the store."""

    @property
    def is_stored(self) -> bool:
        """Whether the store has anything to remove."""
        return self.logged_in or self.has_key


class NoModel(PiError):
    """No model is selected, or it has no credentials.

    The message is that of the original, which scripts look for. ``on_screen`` says the same for
    users of the terminal application: it names the model and slash commands.
    """

    def __init__(self, message: str, *, hint: str = "", on_screen: str = "") -> None:
        super().__init__(message, hint=hint)
        self.on_screen = on_screen or self.explain()


InputSource: TypeAlias = Literal["interactive", "rpc", "extension"]
Streaming: TypeAlias = Literal["steer", "followUp"]


SUBMIT_TOOL = "yield"
"""The tool with which a session that works on a task returns its result."""


class TaskOptions(Record):
    """A session that works on a task for another one; extensions read it as ``ctx.task``."""

    agent: str = ""
    """The name of the agent that does the work, for hooks and logs."""
    depth: int = 0
    """How many tasks this one is nested in; counts towards the limit of nested tasks."""
    prefix: str = ""
    """The id of the parent task: outputs of nested tasks are named ``prefix.name``."""
    output_schema: Json | None = None
    """JSON Schema of the result."""
    requires_result: bool = False
    """Whether the session must return its result with the tool ``yield``."""


class SubSession(Record):
    """Options of a nested session. It inherits model wraps, file layers, guards and trust."""

    prompt: str = ""
    """The first prompt; empty means none, for a session that is kept."""
    tools: tuple[str, ...] | None = None
    """Names of the active built-in tools; ``None`` means the default ones."""
    custom_tools: tuple[AgentTool, ...] = ()
    model: Model | str | None = None
    """``None`` means the model of the parent session."""
    thinking: ThinkingLevel | None = None
    """``None`` means the level of the model pattern, such as ``opus:low``, else the parent's."""
    system: str | None = None
    """Replaces the whole system prompt."""
    append_system: str = ""
    """Added to the system prompt."""
    policies: tuple[Policy, ...] = ()
    """Shape its runs, after the policies of pi itself."""
    keep: bool = False
    """Whether it stays open for further prompts, until ``close`` or the end of the parent."""
    background: bool = False
    """Whether the run continues when the caller that waits for it is cancelled."""
    file: Path | None = None
    """Where it is stored; an existing session file is continued. ``None`` means in memory."""
    seconds: float | None = None
    """Time limit of each prompt; the run is aborted after it."""
    turns: int | None = None
    """Maximum number of answers to each prompt; the run is aborted after them."""
    cost: float | None = None
    """Cost limit of each prompt in dollars; the run is aborted above it."""
    cwd: Path | None = None
    copy_root: Path | None = None
    """Set if ``cwd`` is in a working copy of the project: its root, as trusted as the project."""
    task: TaskOptions = TaskOptions()
    """The task that it works on, as its extensions see it."""
    extensions: Literal["guards", "all"] | tuple[str, ...] = "guards"
    """Extensions of the parent session that are loaded in it as well: none, all, or those named.

    Extensions whose manifests have ``sub_sessions = true`` are always loaded. All extensions of the
    parent guard the nested session in any case, so one that is also loaded there runs twice.
    """


class Command(Record):
    """A slash command."""

    name: str
    description: str | UnsetType = UNSET
    source: Literal["extension", "prompt", "skill"]
    source_info: SourceInfo


class SessionState(Record):
    """The state of a session at this moment."""

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


class ModelNotes(Record):
    """What extensions know about models, for the lists in which users choose one."""

    badges: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Short words by ``provider/id``, such as the roles of a model."""
    used: tuple[str, ...] = ()
    """``provider/id`` of the models that the user works with, the most used first."""


class CycledModel(Record):
    """The model after cycling to it."""

    model: Model
    thinking_level: ThinkingLevel
    is_scoped: bool


class Replaced(Record):
    """Whether another session replaced this one."""

    cancelled: bool


class Forked(Record):
    """The text of the message that a fork starts before."""

    text: str
    cancelled: bool


class Navigated(Record):
    """The result of a move in the tree."""

    cancelled: bool = False
    aborted: bool = False
    text: str | None = None
    """The user message at the target, for editing."""
    summary_id: str | None = None


class ForkPoint(Record):
    """A user message that a fork can start before."""

    entry_id: str
    text: str


class Queues(Record):
    """Messages that were removed from the queues."""

    steering: tuple[str, ...] = ()
    follow_up: tuple[str, ...] = ()

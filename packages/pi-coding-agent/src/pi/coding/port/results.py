"""Arguments and results of the port, as records with RPC field names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import UNSET, UnsetType, field

from pi.agent.policy import Policy
from pi.agent.tools.tool import AgentTool
from pi.ai.messages import Json
from pi.ai.models.model import Model
from pi.ai.models.thinking_levels import ThinkingLevel
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
    """Origin of the credentials if an extension supplies them; it takes precedence."""

    @property
    def is_stored(self) -> bool:
        """Whether the store has anything to remove."""
        return self.logged_in or self.has_key


class NoModel(PiError):
    """No model is selected, or it has no credentials.

    The message is the one of the original pi, which scripts look for. ``on_screen`` is the message
    for the terminal UI, with the model and slash commands.
    """

    def __init__(self, message: str, *, hint: str = "", on_screen: str = "") -> None:
        super().__init__(message, hint=hint)
        self.on_screen = on_screen or self.explain()


InputSource: TypeAlias = Literal["interactive", "rpc", "extension"]
Streaming: TypeAlias = Literal["steer", "followUp"]
Disposition: TypeAlias = Literal["handled", "queued", "started"]
"""What became of a prompt: handled by a command or an extension, queued, or a run was started."""


SUBMIT_TOOL = "yield"
"""The tool with which a session that works on a task returns its result."""


class TaskOptions(Record):
    """The task that a session works on for another one; extensions read it as ``ctx.task``."""

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
    """Added after the policies of pi."""
    keep: bool = False
    """Whether it remains open for further prompts, until ``close`` or the end of the parent."""
    background: bool = False
    """Whether the run continues when the caller that waits for it is cancelled."""
    file: Path | None = None
    """The session file; an existing one is continued. ``None`` means in memory."""
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
    """Extensions of the parent session that are also loaded in it: none, all, or the named ones.

    Extensions whose manifests have ``sub_sessions = true`` are always loaded. Policies of the
    parent's extensions always apply, so those of an extension that is also loaded here run twice.
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
    """Notes of extensions about models, for the lists in which users choose one."""

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
    """The result of a fork, with the text of the message before which it starts."""

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
    """A user message before which a fork can start."""

    entry_id: str
    text: str


class Queues(Record):
    """Messages that were removed from the queues."""

    steering: tuple[str, ...] = ()
    follow_up: tuple[str, ...] = ()

"""The agent loop: send a request, run the tools, send the results.

Usable alone with any function that streams a response. It does not import files, shells, sessions
on disk, settings, screens or the HTTP client.

>>> from pi.agent import Agent, tool
>>> agent = Agent(models.stream_simple, model=model, tools=[add])
>>> await agent.prompt("What is 2 plus 3?")

All names are imported lazily from the modules that define them.
"""
# ruff: isort: skip_file

from __future__ import annotations

from typing import TYPE_CHECKING

from pi.base.lazy_names import lazy_names

if TYPE_CHECKING:
    from pi.agent.agent import Agent as Agent, AgentState as AgentState, StreamFn as StreamFn
    from pi.agent.compaction.budget import CompactionSettings as CompactionSettings
    from pi.agent.compaction.errors import CompactionFailed as CompactionFailed
    from pi.agent.conversation import (
        AgentMessage as AgentMessage,
        Conversation as Conversation,
        MemoryConversation as MemoryConversation,
    )
    from pi.agent.env import (
        ExecResult as ExecResult,
        ExecutionEnv as ExecutionEnv,
        ExecutionFailed as ExecutionFailed,
        FileFailed as FileFailed,
        FileInfo as FileInfo,
        FileSystem as FileSystem,
        SessionError as SessionError,
        SessionFailed as SessionFailed,
        Shell as Shell,
    )
    from pi.agent.errors import (
        AgentBusy as AgentBusy,
        CannotContinue as CannotContinue,
        PromptRefused as PromptRefused,
        WouldDeadlock as WouldDeadlock,
    )
    from pi.agent.events import (
        AgentEnd as AgentEnd,
        AgentEvent as AgentEvent,
        AgentSettled as AgentSettled,
        AgentStart as AgentStart,
        EntryAppended as EntryAppended,
        Listener as Listener,
        MessageEnd as MessageEnd,
        MessageStart as MessageStart,
        MessageUpdate as MessageUpdate,
        QueueUpdate as QueueUpdate,
        ToolExecutionEnd as ToolExecutionEnd,
        ToolExecutionStart as ToolExecutionStart,
        ToolExecutionUpdate as ToolExecutionUpdate,
        TurnEnd as TurnEnd,
        TurnStart as TurnStart,
    )
    from pi.agent.harness.harness import AgentHarness as AgentHarness, SystemPrompt as SystemPrompt
    from pi.agent.harness.hooks import ProviderHooks as ProviderHooks
    from pi.agent.harness.store import (
        ConversationStore as ConversationStore,
        MemoryStore as MemoryStore,
        StoredCompaction as StoredCompaction,
        StoredConversation as StoredConversation,
        StoredEntry as StoredEntry,
        StoredModelChange as StoredModelChange,
        StoredThinkingLevel as StoredThinkingLevel,
        visible_messages as visible_messages,
    )
    from pi.agent.policy import (
        Boundary as Boundary,
        Interrupt as Interrupt,
        Next as Next,
        Policy as Policy,
        Request as Request,
        StopRun as StopRun,
        ToolRefused as ToolRefused,
    )
    from pi.agent.proxy import StreamProxy as StreamProxy, stream_proxy as stream_proxy
    from pi.agent.skills import Skill as Skill
    from pi.agent.tools.define import make_tool as make_tool, tool as tool
    from pi.agent.tools.tool import (
        AgentTool as AgentTool,
        ToolContext as ToolContext,
        ToolFailed as ToolFailed,
        ToolResult as ToolResult,
    )
    from pi.base.records import Meta as Meta, Record as Record, replace as replace


_HOMES = {
    "pi.agent.agent": ("Agent", "AgentState", "StreamFn"),
    "pi.agent.compaction.errors": ("CompactionFailed",),
    "pi.agent.compaction.budget": ("CompactionSettings",),
    "pi.agent.conversation": ("AgentMessage", "Conversation", "MemoryConversation"),
    "pi.agent.env": (
        "ExecResult",
        "ExecutionEnv",
        "ExecutionFailed",
        "FileFailed",
        "FileInfo",
        "FileSystem",
        "SessionError",
        "SessionFailed",
        "Shell",
    ),
    "pi.agent.errors": ("AgentBusy", "CannotContinue", "PromptRefused", "WouldDeadlock"),
    "pi.agent.events": (
        "AgentEnd",
        "AgentEvent",
        "AgentSettled",
        "AgentStart",
        "EntryAppended",
        "Listener",
        "MessageEnd",
        "MessageStart",
        "MessageUpdate",
        "QueueUpdate",
        "ToolExecutionEnd",
        "ToolExecutionStart",
        "ToolExecutionUpdate",
        "TurnEnd",
        "TurnStart",
    ),
    "pi.agent.harness.harness": ("AgentHarness", "SystemPrompt"),
    "pi.agent.harness.hooks": ("ProviderHooks",),
    "pi.agent.harness.store": (
        "StoredCompaction",
        "ConversationStore",
        "StoredEntry",
        "MemoryStore",
        "StoredModelChange",
        "StoredConversation",
        "StoredThinkingLevel",
        "visible_messages",
    ),
    "pi.agent.policy": (
        "Boundary",
        "Interrupt",
        "Next",
        "Policy",
        "Request",
        "StopRun",
        "ToolRefused",
    ),
    "pi.agent.proxy": ("StreamProxy", "stream_proxy"),
    "pi.agent.skills": ("Skill",),
    "pi.agent.tools.define": ("make_tool", "tool"),
    "pi.agent.tools.tool": ("AgentTool", "ToolContext", "ToolFailed", "ToolResult"),
    "pi.base.records": ("Meta", "Record", "replace"),
}
"""The public names, by the module that defines them; the imports above tell type checkers."""


if not TYPE_CHECKING:  # type checkers would accept any attribute name
    __getattr__ = lazy_names(__name__, _HOMES)

    __all__ = [name for names in _HOMES.values() for name in names]

    def __dir__() -> list[str]:
        return __all__

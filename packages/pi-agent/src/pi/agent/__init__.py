"""The agent loop: send a request, run the tools, send the results.

Usable alone with any function that streams a response. It does not import files, shells, sessions
on disk, settings, screens or the HTTP client.

>>> from pi.agent import Agent, tool
>>> agent = Agent(models.stream_simple, model=model, tools=[add])
>>> await agent.prompt("What is 2 plus 3?")

All names are imported lazily from the modules that define them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi.base.lazy_names import lazy_names

if TYPE_CHECKING:
    from pi.agent.agent import Agent, AgentState, StreamFn
    from pi.agent.compaction.budget import CompactionSettings
    from pi.agent.compaction.errors import CompactionFailed
    from pi.agent.conversation import AgentMessage, Conversation, MemoryConversation
    from pi.agent.env import (
        ExecResult,
        ExecutionEnv,
        ExecutionFailed,
        FileFailed,
        FileInfo,
        FileSystem,
        SessionError,
        SessionFailed,
        Shell,
    )
    from pi.agent.errors import AgentBusy, CannotContinue, PromptRefused, WouldDeadlock
    from pi.agent.events import (
        AgentEnd,
        AgentEvent,
        AgentSettled,
        AgentStart,
        EntryAppended,
        Listener,
        MessageEnd,
        MessageStart,
        MessageUpdate,
        QueueUpdate,
        ToolExecutionEnd,
        ToolExecutionStart,
        ToolExecutionUpdate,
        TurnEnd,
        TurnStart,
    )
    from pi.agent.harness.harness import AgentHarness, SystemPrompt
    from pi.agent.harness.hooks import ProviderHooks
    from pi.agent.harness.store import (
        ConversationStore,
        MemoryStore,
        StoredCompaction,
        StoredConversation,
        StoredEntry,
        StoredModelChange,
        StoredThinkingLevel,
        visible_messages,
    )
    from pi.agent.policy import Boundary, Interrupt, Next, Policy, Request, StopRun, ToolRefused
    from pi.agent.proxy import StreamProxy, stream_proxy
    from pi.agent.skills import Skill
    from pi.agent.tools.define import make_tool, tool
    from pi.agent.tools.tool import AgentTool, ToolContext, ToolFailed, ToolResult
    from pi.base.records import Meta, Record, replace

__all__ = [
    "Agent",
    "AgentBusy",
    "AgentEnd",
    "AgentEvent",
    "AgentHarness",
    "AgentMessage",
    "AgentSettled",
    "AgentStart",
    "AgentState",
    "AgentTool",
    "Boundary",
    "CannotContinue",
    "CompactionFailed",
    "CompactionSettings",
    "Conversation",
    "ConversationStore",
    "EntryAppended",
    "ExecResult",
    "ExecutionEnv",
    "ExecutionFailed",
    "FileFailed",
    "FileInfo",
    "FileSystem",
    "Interrupt",
    "Listener",
    "MemoryConversation",
    "MemoryStore",
    "MessageEnd",
    "MessageStart",
    "MessageUpdate",
    "Meta",
    "Next",
    "Policy",
    "PromptRefused",
    "ProviderHooks",
    "QueueUpdate",
    "Record",
    "Request",
    "SessionError",
    "SessionFailed",
    "Shell",
    "Skill",
    "StopRun",
    "StoredCompaction",
    "StoredConversation",
    "StoredEntry",
    "StoredModelChange",
    "StoredThinkingLevel",
    "StreamFn",
    "StreamProxy",
    "SystemPrompt",
    "ToolContext",
    "ToolExecutionEnd",
    "ToolExecutionStart",
    "ToolExecutionUpdate",
    "ToolFailed",
    "ToolRefused",
    "ToolResult",
    "TurnEnd",
    "TurnStart",
    "WouldDeadlock",
    "make_tool",
    "replace",
    "stream_proxy",
    "tool",
    "visible_messages",
]

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
"""Public names by module."""


if not TYPE_CHECKING:  # type checkers would accept any attribute name
    __getattr__ = lazy_names(__name__, _HOMES)


def __dir__() -> list[str]:
    return __all__

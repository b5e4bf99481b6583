"""Ask, run tools, ask again: the loop, and what hangs on it.

Usable alone with any function that streams an answer. Must not know files, shells, sessions on
disk, settings or screens, and never the HTTP client.

>>> from pi.agent import Agent, tool
>>> agent = Agent(models.stream_simple, model=model, tools=[add])
>>> await agent.prompt("What is 2 plus 3?")

Nothing is defined here, and nothing is loaded before it is used.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pi.agent.agent import Agent, AgentState, StreamFn
    from pi.agent.compaction.settings import CompactionSettings
    from pi.agent.conversation import AgentMessage, Conversation, MemoryConversation
    from pi.agent.env import ExecResult, ExecutionEnv, FileInfo, FileSystem, Shell
    from pi.agent.error_codes import (
        CompactionFailed,
        ExecutionFailed,
        FileFailed,
        SessionError,
        SessionFailed,
    )
    from pi.agent.errors import AgentBusy, CannotContinue, PromptRefused, WouldDeadlock
    from pi.agent.events import (
        AgentEnd,
        AgentEvent,
        AgentSettled,
        AgentStart,
        EntryAppended,
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
    from pi.agent.harness import AgentHarness
    from pi.agent.listeners import Listener
    from pi.agent.policy import Boundary, Interrupt, Next, Policy, Request, StopRun, ToolRefused
    from pi.agent.provider_hooks import ProviderHooks
    from pi.agent.skills import Skill
    from pi.agent.store import (
        Compaction,
        ConversationStore,
        Entry,
        MemoryStore,
        ModelChange,
        StoredConversation,
        ThinkingLevelChange,
        visible_messages,
    )
    from pi.agent.stream_proxy import StreamProxy, stream_proxy
    from pi.agent.system_prompt import SystemPrompt
    from pi.agent.tool import AgentTool, ToolContext, ToolFailed, ToolResult
    from pi.agent.tool_forms import make_tool, tool
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
    "Compaction",
    "CompactionFailed",
    "CompactionSettings",
    "Conversation",
    "ConversationStore",
    "Entry",
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
    "ModelChange",
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
    "StoredConversation",
    "StreamFn",
    "StreamProxy",
    "SystemPrompt",
    "ThinkingLevelChange",
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
    "pi.agent.compaction.settings": ("CompactionSettings",),
    "pi.agent.conversation": ("AgentMessage", "Conversation", "MemoryConversation"),
    "pi.agent.env": ("ExecResult", "ExecutionEnv", "FileInfo", "FileSystem", "Shell"),
    "pi.agent.error_codes": (
        "CompactionFailed",
        "ExecutionFailed",
        "FileFailed",
        "SessionError",
        "SessionFailed",
    ),
    "pi.agent.errors": ("AgentBusy", "CannotContinue", "PromptRefused", "WouldDeadlock"),
    "pi.agent.events": (
        "AgentEnd",
        "AgentEvent",
        "AgentSettled",
        "AgentStart",
        "EntryAppended",
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
    "pi.agent.harness": ("AgentHarness",),
    "pi.agent.listeners": ("Listener",),
    "pi.agent.policy": (
        "Boundary",
        "Interrupt",
        "Next",
        "Policy",
        "Request",
        "StopRun",
        "ToolRefused",
    ),
    "pi.agent.provider_hooks": ("ProviderHooks",),
    "pi.agent.skills": ("Skill",),
    "pi.agent.store": (
        "Compaction",
        "ConversationStore",
        "Entry",
        "MemoryStore",
        "ModelChange",
        "StoredConversation",
        "ThinkingLevelChange",
        "visible_messages",
    ),
    "pi.agent.stream_proxy": ("StreamProxy", "stream_proxy"),
    "pi.agent.system_prompt": ("SystemPrompt",),
    "pi.agent.tool": ("AgentTool", "ToolContext", "ToolFailed", "ToolResult"),
    "pi.agent.tool_forms": ("make_tool", "tool"),
    "pi.base.records": ("Meta", "Record", "replace"),
}
"""The module of each name."""


class _Package(ModuleType):
    """Keeps ``tool`` and ``stream_proxy`` functions when the modules of these names are loaded.

    Python stores a submodule in its package, so that ``from pi.agent import tool`` would return
    the module as soon as anything has imported it.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if not (isinstance(value, ModuleType) and name in __all__):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package

if not TYPE_CHECKING:  # type checkers would take any name for one of ours

    def __getattr__(name: str) -> object:
        for module, names in _HOMES.items():
            if name in names:
                value = getattr(import_module(module), name)
                globals()[name] = value  # found without this function from now on
                return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__

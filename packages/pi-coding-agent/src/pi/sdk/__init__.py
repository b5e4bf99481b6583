"""The public API of pi as a library.

>>> from pi.sdk import run
>>> run("Summarize this repository in three bullets.")

Names are imported lazily from the modules that define them, so importing this module is cheap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi.base.lazy_names import lazy_names

if TYPE_CHECKING:
    from pi.agent.agent import Agent
    from pi.agent.events import (
        AgentSettled,
        MessageEnd,
        MessageUpdate,
        ToolExecutionEnd,
        ToolExecutionStart,
    )
    from pi.agent.skills import Skill
    from pi.agent.tools.define import make_tool, tool
    from pi.agent.tools.tool import AgentTool, ToolContext, ToolFailed, ToolResult
    from pi.ai.auth.storage import AuthStorage
    from pi.ai.collection import Models
    from pi.ai.events import TextDelta
    from pi.ai.messages import AssistantMessage, Image
    from pi.ai.models.model import Model
    from pi.base.errors import PiError
    from pi.base.records import Meta, Record
    from pi.coding.batch.driver import BatchOptions, run_batch
    from pi.coding.batch.execution import TaskLimits
    from pi.coding.batch.results import BatchResult
    from pi.coding.batch.tasks import BatchTask
    from pi.coding.models.registry import ModelRegistry
    from pi.coding.resources.instructions import ContextFile
    from pi.coding.resources.prompts import PromptTemplate
    from pi.coding.runtime.discovery import (
        discover_auth_storage,
        discover_context_files,
        discover_models,
        discover_prompt_templates,
        discover_skills,
        local_environment,
    )
    from pi.coding.runtime.embedding import (
        AgentSessionOptions,
        CreateAgentSessionResult,
        RunFailed,
        create_agent_session,
        run,
    )
    from pi.coding.runtime.rpc_client import (
        RpcClient,
        RpcEvent,
        RpcRefused,
        RpcServerDied,
        RpcUnreadable,
    )
    from pi.coding.runtime.session.agent_session import AgentSession
    from pi.coding.runtime.session.public_events import AgentSessionEvent
    from pi.coding.runtime.session_manager import SessionManager
    from pi.coding.runtime.session_places import session_catalog, session_location
    from pi.coding.session.entries import CustomMessage
    from pi.coding.settings.settings import Settings

__all__ = [
    "Agent",
    "AgentSession",
    "AgentSessionEvent",
    "AgentSessionOptions",
    "AgentSettled",
    "AgentTool",
    "AssistantMessage",
    "AuthStorage",
    "BatchOptions",
    "BatchResult",
    "BatchTask",
    "ContextFile",
    "CreateAgentSessionResult",
    "CustomMessage",
    "Image",
    "MessageEnd",
    "MessageUpdate",
    "Meta",
    "Model",
    "ModelRegistry",
    "Models",
    "PiError",
    "PromptTemplate",
    "Record",
    "RpcClient",
    "RpcEvent",
    "RpcRefused",
    "RpcServerDied",
    "RpcUnreadable",
    "RunFailed",
    "SessionManager",
    "Settings",
    "Skill",
    "TaskLimits",
    "TextDelta",
    "ToolContext",
    "ToolExecutionEnd",
    "ToolExecutionStart",
    "ToolFailed",
    "ToolResult",
    "create_agent_session",
    "discover_auth_storage",
    "discover_context_files",
    "discover_models",
    "discover_prompt_templates",
    "discover_skills",
    "local_environment",
    "make_tool",
    "run",
    "run_batch",
    "session_catalog",
    "session_location",
    "tool",
]

_HOMES = {
    "pi.agent.agent": ("Agent",),
    "pi.agent.events": (
        "AgentSettled",
        "MessageEnd",
        "MessageUpdate",
        "ToolExecutionEnd",
        "ToolExecutionStart",
    ),
    "pi.agent.skills": ("Skill",),
    "pi.agent.tools.define": ("make_tool", "tool"),
    "pi.agent.tools.tool": ("AgentTool", "ToolContext", "ToolFailed", "ToolResult"),
    "pi.ai.auth.storage": ("AuthStorage",),
    "pi.ai.collection": ("Models",),
    "pi.ai.events": ("TextDelta",),
    "pi.ai.messages": ("AssistantMessage", "Image"),
    "pi.ai.models.model": ("Model",),
    "pi.base.errors": ("PiError",),
    "pi.base.records": ("Meta", "Record"),
    "pi.coding.batch.driver": ("BatchOptions", "run_batch"),
    "pi.coding.batch.execution": ("TaskLimits",),
    "pi.coding.batch.results": ("BatchResult",),
    "pi.coding.batch.tasks": ("BatchTask",),
    "pi.coding.models.registry": ("ModelRegistry",),
    "pi.coding.resources.instructions": ("ContextFile",),
    "pi.coding.resources.prompts": ("PromptTemplate",),
    "pi.coding.runtime.discovery": (
        "discover_auth_storage",
        "discover_context_files",
        "discover_models",
        "discover_prompt_templates",
        "discover_skills",
        "local_environment",
    ),
    "pi.coding.runtime.embedding": (
        "AgentSessionOptions",
        "CreateAgentSessionResult",
        "RunFailed",
        "create_agent_session",
        "run",
    ),
    "pi.coding.runtime.rpc_client": (
        "RpcClient",
        "RpcEvent",
        "RpcRefused",
        "RpcServerDied",
        "RpcUnreadable",
    ),
    "pi.coding.runtime.session.agent_session": ("AgentSession",),
    "pi.coding.runtime.session.public_events": ("AgentSessionEvent",),
    "pi.coding.runtime.session_manager": ("SessionManager",),
    "pi.coding.runtime.session_places": ("session_catalog", "session_location"),
    "pi.coding.session.entries": ("CustomMessage",),
    "pi.coding.settings.settings": ("Settings",),
}
"""The modules that define the public names."""


if not TYPE_CHECKING:  # type checkers would accept any attribute
    __getattr__ = lazy_names(__name__, _HOMES)


def __dir__() -> list[str]:
    return __all__

"""The public API of pi as a library.

>>> from pi.sdk import run
>>> run("Summarize this repository in three bullets.")

Names are imported lazily from the modules that define them, so importing this module is cheap.
"""
# ruff: isort: skip_file

from __future__ import annotations

from typing import TYPE_CHECKING

from pi.base.lazy_names import lazy_names

if TYPE_CHECKING:
    from pi.agent.agent import Agent as Agent
    from pi.agent.events import (
        AgentSettled as AgentSettled,
        MessageEnd as MessageEnd,
        MessageUpdate as MessageUpdate,
        ToolExecutionEnd as ToolExecutionEnd,
        ToolExecutionStart as ToolExecutionStart,
    )
    from pi.agent.skills import Skill as Skill
    from pi.agent.tools.define import make_tool as make_tool, tool as tool
    from pi.agent.tools.tool import (
        AgentTool as AgentTool,
        ToolContext as ToolContext,
        ToolFailed as ToolFailed,
        ToolResult as ToolResult,
    )
    from pi.ai.auth.storage import AuthStorage as AuthStorage
    from pi.ai.collection import Models as Models
    from pi.ai.events import TextDelta as TextDelta
    from pi.ai.messages import AssistantMessage as AssistantMessage, Image as Image
    from pi.ai.models.model import Model as Model
    from pi.base.errors import PiError as PiError
    from pi.base.records import Meta as Meta, Record as Record
    from pi.batch.driver import BatchOptions as BatchOptions, run_batch as run_batch
    from pi.batch.execution import TaskLimits as TaskLimits
    from pi.batch.results import BatchResult as BatchResult
    from pi.batch.tasks import BatchTask as BatchTask
    from pi.coding.models.registry import ModelRegistry as ModelRegistry
    from pi.coding.resources.instructions import ContextFile as ContextFile
    from pi.coding.resources.prompts import PromptTemplate as PromptTemplate
    from pi.coding.runtime.discovery import (
        discover_auth_storage as discover_auth_storage,
        discover_context_files as discover_context_files,
        discover_models as discover_models,
        discover_prompt_templates as discover_prompt_templates,
        discover_skills as discover_skills,
        local_environment as local_environment,
    )
    from pi.coding.runtime.embedding import (
        AgentSessionOptions as AgentSessionOptions,
        CreateAgentSessionResult as CreateAgentSessionResult,
        RunFailed as RunFailed,
        create_agent_session as create_agent_session,
        run as run,
    )
    from pi.coding.runtime.rpc_client import (
        RpcClient as RpcClient,
        RpcEvent as RpcEvent,
        RpcRefused as RpcRefused,
        RpcServerDied as RpcServerDied,
        RpcUnreadable as RpcUnreadable,
    )
    from pi.coding.runtime.session.agent_session import AgentSession as AgentSession
    from pi.coding.runtime.session.public_events import AgentSessionEvent as AgentSessionEvent
    from pi.coding.runtime.session_manager import SessionManager as SessionManager
    from pi.coding.runtime.session_places import (
        session_catalog as session_catalog,
        session_location as session_location,
    )
    from pi.coding.session.entries import CustomMessage as CustomMessage
    from pi.coding.settings.settings import Settings as Settings


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
    "pi.batch.driver": ("BatchOptions", "run_batch"),
    "pi.batch.execution": ("TaskLimits",),
    "pi.batch.results": ("BatchResult",),
    "pi.batch.tasks": ("BatchTask",),
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
"""The public names, by the module that defines them; the imports above tell type checkers."""

_DISTRIBUTIONS = {home: "pi-harness-batch" for home in _HOMES if home.startswith("pi.batch.")}
"""Modules that are not in the distribution of this one."""


if not TYPE_CHECKING:  # type checkers would accept any attribute
    __getattr__ = lazy_names(__name__, _HOMES, distributions=_DISTRIBUTIONS)

    __all__ = [name for names in _HOMES.values() for name in names]

    def __dir__() -> list[str]:
        return __all__

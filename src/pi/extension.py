"""The API of extensions: the names that stay.

    from pi.extension import ExtensionAPI

    def extension(pi: ExtensionAPI) -> None:
        @pi.command("hello")
        async def hello(args, ctx):
            ctx.ui.notify(f"Hello, {args}!")

Nothing is defined here: every name lives beside whoever answers for it. ``API_VERSION`` is raised
when something promised changes.
"""

from __future__ import annotations

from pi.agent.open_answer import MessageToken
from pi.agent.policy import (
    Boundary,
    Interrupt,
    Next,
    Partial,
    Policy,
    Request,
    StopRun,
    ToolRefused,
)
from pi.agent.tool import AgentTool, FilePreview, ToolContext, ToolFailed, ToolResult
from pi.agent.tool_forms import make_tool, tool
from pi.ai.auth.credentials import OAuthCredential
from pi.ai.builder import MessageBuilder
from pi.ai.errors import AuthenticationFailed, ProviderError
from pi.ai.events import (
    Delta,
    Done,
    Failed,
    Start,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
)
from pi.ai.messages import (
    AssistantMessage,
    Image,
    Json,
    Message,
    SystemMessage,
    Text,
    Thinking,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from pi.ai.models.model import Model, ThinkingLevel
from pi.ai.models_collection import ModelProvider
from pi.ai.providers.provider import Provider
from pi.ai.request import Call, StreamOptions
from pi.base.clock import Clock
from pi.base.errors import PiError
from pi.base.processes import Child, start_detached
from pi.base.records import UNSET, Meta, Record, field, replace
from pi.base.terminal_text import one_line, sanitise, sanitise_keeping_style
from pi.coding.compaction.branches import Notes, TreeDecision
from pi.coding.compaction.events import CompactDecision, CompactingAnswer, CompactionResult
from pi.coding.compaction.strategies.strategy import Declined, Edits, HandOff, Strategy, Work
from pi.coding.extension_host.answers import (
    BeforeAgentStartAnswer,
    Block,
    BoundaryAnswer,
    CacheWarmingAnswer,
    Cancel,
    ContextAnswer,
    MessageEndAnswer,
    ResourcesAnswer,
    ToolResultAnswer,
    UserBashAnswer,
)
from pi.coding.extension_host.api import ExtensionAPI
from pi.coding.extension_host.artifacts import OutputSink
from pi.coding.extension_host.context import CommandContext, ExtensionContext
from pi.coding.extension_host.control import SessionControl
from pi.coding.extension_host.credentials import AuthUnavailable
from pi.coding.extension_host.drawing import Drawable, Rows, Theme
from pi.coding.extension_host.failures import ExtensionError, StaleSession
from pi.coding.extension_host.feed import Feed
from pi.coding.extension_host.feed_items import FeedItem
from pi.coding.extension_host.input_modes import InputMode
from pi.coding.extension_host.logins import LoginCallbacks, OAuthConfig
from pi.coding.extension_host.manifest import API_VERSION
from pi.coding.extension_host.model_wraps import ModelRequest, ModelWrap
from pi.coding.extension_host.processes import ExecResult
from pi.coding.extension_host.prompt_options import SystemPromptOptions
from pi.coding.extension_host.providers import ProviderConfig
from pi.coding.extension_host.references import (
    Resource,
    ResourceHandler,
    ResourceRef,
    ResourceWindow,
)
from pi.coding.extension_host.registration import Registration
from pi.coding.extension_host.replicas import Remote, Replica
from pi.coding.extension_host.run_events import (
    AfterProviderResponseEvent,
    AgentBeforeSettleEvent,
    AgentEndEvent,
    AgentSettledEvent,
    AgentStartEvent,
    BeforeAgentStartEvent,
    BeforeProviderHeadersEvent,
    BeforeProviderRequestEvent,
    BoundaryContext,
    ContextEvent,
    ContextWithSystemEvent,
    InputEvent,
    MessageEndEvent,
    MessageStartEvent,
    MessageUpdateEvent,
    ModelSelectEvent,
    ThinkingLevelSelectEvent,
    ToolCallEvent,
    ToolExecutionEndEvent,
    ToolExecutionStartEvent,
    ToolExecutionUpdateEvent,
    ToolResultEvent,
    TurnEndEvent,
    TurnStartEvent,
)
from pi.coding.extension_host.said_input import InputAnswer
from pi.coding.extension_host.scope import Scope
from pi.coding.extension_host.session_events import (
    CacheWarmingDecisionEvent,
    ProjectTrustEvent,
    ResourcesDiscoverEvent,
    SessionBeforeCompactEvent,
    SessionBeforeForkEvent,
    SessionBeforeSwitchEvent,
    SessionBeforeTreeEvent,
    SessionCompactEvent,
    SessionCompactFailedEvent,
    SessionCompactingEvent,
    SessionForkEvent,
    SessionInfoChangedEvent,
    SessionShutdownEvent,
    SessionStartEvent,
    SessionSwitchEvent,
    SessionTreeEvent,
    UiPromptEndEvent,
    UiPromptStartEvent,
    UserBashEvent,
)
from pi.coding.extension_host.sub_sessions import SessionHandle, SubSession
from pi.coding.extension_host.tools import ToolWrap
from pi.coding.extension_host.ui import ExtensionUI, Option
from pi.coding.extension_host.views import ToolView, ViewOptions
from pi.coding.files.layers import FileChange, FileLayer, FileWrite, FileWritten
from pi.coding.resources.frontmatter import BadResource
from pi.coding.resources.kinds import ResourceItem, Where
from pi.coding.resources.rules import Rule
from pi.coding.session.entries import (
    BranchSummary,
    Compaction,
    ContextEdit,
    Custom,
    CustomMessageEntry,
    Entry,
    MessageEntry,
    UsageEntry,
)
from pi.coding.session.messages import CustomMessage, SessionMessage
from pi.coding.session.numbers import ContextUsage, SessionStats, TokenTotals, usage_of
from pi.coding.shell.user_commands import BashResult
from pi.coding.trust.trust import TrustAnswer

__all__ = [
    "API_VERSION",
    "UNSET",
    "AfterProviderResponseEvent",
    "AgentBeforeSettleEvent",
    "AgentEndEvent",
    "AgentSettledEvent",
    "AgentStartEvent",
    "AgentTool",
    "AssistantMessage",
    "AuthUnavailable",
    "AuthenticationFailed",
    "BadResource",
    "BashResult",
    "BeforeAgentStartAnswer",
    "BeforeAgentStartEvent",
    "BeforeProviderHeadersEvent",
    "BeforeProviderRequestEvent",
    "Block",
    "Boundary",
    "BoundaryAnswer",
    "BoundaryContext",
    "BranchSummary",
    "CacheWarmingAnswer",
    "CacheWarmingDecisionEvent",
    "Call",
    "Cancel",
    "Child",
    "Clock",
    "CommandContext",
    "CompactDecision",
    "CompactingAnswer",
    "Compaction",
    "CompactionResult",
    "ContextAnswer",
    "ContextEdit",
    "ContextEvent",
    "ContextUsage",
    "ContextWithSystemEvent",
    "Custom",
    "CustomMessage",
    "CustomMessageEntry",
    "Declined",
    "Delta",
    "Done",
    "Drawable",
    "Edits",
    "Entry",
    "ExecResult",
    "ExtensionAPI",
    "ExtensionContext",
    "ExtensionError",
    "ExtensionUI",
    "Failed",
    "Feed",
    "FeedItem",
    "FileChange",
    "FileLayer",
    "FilePreview",
    "FileWrite",
    "FileWritten",
    "HandOff",
    "Image",
    "InputAnswer",
    "InputEvent",
    "InputMode",
    "Interrupt",
    "Json",
    "LoginCallbacks",
    "Message",
    "MessageBuilder",
    "MessageEndAnswer",
    "MessageEndEvent",
    "MessageEntry",
    "MessageStartEvent",
    "MessageToken",
    "MessageUpdateEvent",
    "Meta",
    "Model",
    "ModelProvider",
    "ModelRequest",
    "ModelSelectEvent",
    "ModelWrap",
    "Next",
    "Notes",
    "OAuthConfig",
    "OAuthCredential",
    "Option",
    "OutputSink",
    "Partial",
    "PiError",
    "Policy",
    "ProjectTrustEvent",
    "Provider",
    "ProviderConfig",
    "ProviderError",
    "Record",
    "Registration",
    "Remote",
    "Replica",
    "Request",
    "Resource",
    "ResourceHandler",
    "ResourceItem",
    "ResourceRef",
    "ResourceWindow",
    "ResourcesAnswer",
    "ResourcesDiscoverEvent",
    "Rows",
    "Rule",
    "Scope",
    "SessionBeforeCompactEvent",
    "SessionBeforeForkEvent",
    "SessionBeforeSwitchEvent",
    "SessionBeforeTreeEvent",
    "SessionCompactEvent",
    "SessionCompactFailedEvent",
    "SessionCompactingEvent",
    "SessionControl",
    "SessionForkEvent",
    "SessionHandle",
    "SessionInfoChangedEvent",
    "SessionMessage",
    "SessionShutdownEvent",
    "SessionStartEvent",
    "SessionStats",
    "SessionSwitchEvent",
    "SessionTreeEvent",
    "StaleSession",
    "Start",
    "StopRun",
    "Strategy",
    "StreamEvent",
    "StreamOptions",
    "SubSession",
    "SystemMessage",
    "SystemPromptOptions",
    "Text",
    "TextDelta",
    "Theme",
    "Thinking",
    "ThinkingDelta",
    "ThinkingLevel",
    "ThinkingLevelSelectEvent",
    "TokenTotals",
    "ToolCall",
    "ToolCallDelta",
    "ToolCallEvent",
    "ToolContext",
    "ToolExecutionEndEvent",
    "ToolExecutionStartEvent",
    "ToolExecutionUpdateEvent",
    "ToolFailed",
    "ToolRefused",
    "ToolResult",
    "ToolResultAnswer",
    "ToolResultEvent",
    "ToolResultMessage",
    "ToolView",
    "ToolWrap",
    "TreeDecision",
    "TrustAnswer",
    "TurnEndEvent",
    "TurnStartEvent",
    "UiPromptEndEvent",
    "UiPromptStartEvent",
    "Usage",
    "UsageEntry",
    "UserBashAnswer",
    "UserBashEvent",
    "UserMessage",
    "ViewOptions",
    "Where",
    "Work",
    "field",
    "make_tool",
    "one_line",
    "replace",
    "sanitise",
    "sanitise_keeping_style",
    "start_detached",
    "tool",
    "usage_of",
]

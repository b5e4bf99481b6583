"""The public API of extensions.

    from pi.extension import ExtensionAPI

    def extension(pi: ExtensionAPI) -> None:
        @pi.command("hello")
        async def hello(args, ctx):
            ctx.ui.notify(f"Hello, {args}!")

This module only re-exports names. ``API_VERSION`` is raised with every incompatible change.
"""

from __future__ import annotations

from msgspec import UNSET, Meta, field

from pi.agent.events import AgentEnd as AgentEndEvent
from pi.agent.events import AgentSettled as AgentSettledEvent
from pi.agent.events import AgentStart as AgentStartEvent
from pi.agent.events import MessageStart as MessageStartEvent
from pi.agent.events import ToolExecutionEnd as ToolExecutionEndEvent
from pi.agent.events import ToolExecutionStart as ToolExecutionStartEvent
from pi.agent.events import ToolExecutionUpdate as ToolExecutionUpdateEvent
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
from pi.agent.response import MessageToken
from pi.agent.tools.define import make_tool, tool
from pi.agent.tools.tool import AgentTool, FilePreview, ToolContext, ToolFailed, ToolResult
from pi.ai.auth.credentials import OAuthCredential
from pi.ai.builder import MessageBuilder
from pi.ai.collection import ModelProvider
from pi.ai.errors import (
    AuthenticationFailed,
    ContextOverflow,
    ProviderError,
    QuotaExhausted,
    RateLimited,
)
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
from pi.ai.provider import Provider
from pi.ai.request import Call, StreamOptions
from pi.base.clock import Clock
from pi.base.errors import PiError
from pi.base.formats import (
    BadFormat,
    Document,
    parse_front_matter,
    parse_json5,
    parse_jsonc,
    parse_toml,
    parse_yaml,
)
from pi.base.processes import BadFrame, Child, start_detached
from pi.base.records import Record, replace
from pi.base.terminal_text import one_line, sanitise, sanitise_keeping_style
from pi.coding.compaction.events import (
    CompactDecision,
    CompactingAnswer,
    CompactionResult,
    Notes,
    SessionBeforeCompactEvent,
    SessionBeforeTreeEvent,
    SessionCompactEvent,
    SessionCompactFailedEvent,
    SessionCompactingEvent,
    SessionTreeEvent,
    TreeDecision,
)
from pi.coding.compaction.strategies import Declined, Edits, HandOff, Strategy, Work
from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.extension_host.api.context import CommandContext, ExtensionContext
from pi.coding.extension_host.api.processes import ExecResult
from pi.coding.extension_host.api.readers import Feed
from pi.coding.extension_host.api.storage import OutputSink
from pi.coding.extension_host.api.sub_sessions import SessionHandle
from pi.coding.extension_host.contributions.credentials import (
    AuthUnavailable,
    LoginCallbacks,
    OAuthConfig,
)
from pi.coding.extension_host.contributions.model_wraps import ModelRequest, ModelWrap
from pi.coding.extension_host.contributions.providers import ProviderConfig
from pi.coding.extension_host.contributions.references import (
    Resource,
    ResourceHandler,
    ResourceRef,
    ResourceWindow,
)
from pi.coding.extension_host.contributions.tools import ToolWrap
from pi.coding.extension_host.contributions.views import ToolView
from pi.coding.extension_host.control import SessionControl
from pi.coding.extension_host.discovery.manifest import API_VERSION
from pi.coding.extension_host.errors import ExtensionError, StaleSession
from pi.coding.extension_host.events.answers import (
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
from pi.coding.extension_host.events.run import (
    AfterProviderResponseEvent,
    AgentBeforeSettleEvent,
    BeforeAgentStartEvent,
    BeforeProviderHeadersEvent,
    BeforeProviderRequestEvent,
    BoundaryContext,
    ContextEvent,
    ContextWithSystemEvent,
    MessageEndEvent,
    MessageUpdateEvent,
    ToolCallEvent,
    ToolResultEvent,
    TurnEndEvent,
    TurnStartEvent,
)
from pi.coding.extension_host.events.session import (
    CacheWarmingDecisionEvent,
    InputAnswer,
    InputEvent,
    ModelSelectEvent,
    ResourcesDiscoverEvent,
    SessionBeforeForkEvent,
    SessionBeforeSwitchEvent,
    SessionForkEvent,
    SessionInfoChangedEvent,
    SessionShutdownEvent,
    SessionStartEvent,
    SessionSwitchEvent,
    ThinkingLevelSelectEvent,
    UiPromptEndEvent,
    UiPromptStartEvent,
    UserBashEvent,
)
from pi.coding.extension_host.scope import Registration, Scope
from pi.coding.files.layers import FileChange, FileLayer, FileWrite, FileWritten
from pi.coding.port.drawing import Drawable, Rows, Theme
from pi.coding.port.extensions import InputMode, ViewOptions
from pi.coding.port.remote import FeedItem, Remote, Replica
from pi.coding.port.results import SubSession
from pi.coding.port.ui import ExtensionUI, Option
from pi.coding.prompt import SystemPromptOptions
from pi.coding.resources.kinds import ResourceItem, Rule, Where
from pi.coding.resources.sources import BadResource
from pi.coding.session.entries import (
    BranchSummary,
    Compaction,
    ContextEdit,
    Custom,
    CustomMessage,
    CustomMessageEntry,
    Entry,
    MessageEntry,
    SessionMessage,
    UsageEntry,
)
from pi.coding.session.views import ContextUsage, SessionStats, TokenTotals, usage_of
from pi.coding.shell.local import BashResult
from pi.coding.trust import ProjectTrustEvent, TrustAnswer

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
    "BadFormat",
    "BadFrame",
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
    "ContextOverflow",
    "ContextUsage",
    "ContextWithSystemEvent",
    "Custom",
    "CustomMessage",
    "CustomMessageEntry",
    "Declined",
    "Delta",
    "Document",
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
    "QuotaExhausted",
    "RateLimited",
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
    "parse_front_matter",
    "parse_json5",
    "parse_jsonc",
    "parse_toml",
    "parse_yaml",
    "replace",
    "sanitise",
    "sanitise_keeping_style",
    "start_detached",
    "tool",
    "usage_of",
]

"""The public API of extensions.

    from pi.extension import ExtensionAPI

    def extension(pi: ExtensionAPI) -> None:
        @pi.command("hello")
        async def hello(args, ctx):
            ctx.ui.notify(f"Hello, {args}!")

This module only re-exports names, rarely used ones lazily. ``API_VERSION`` is raised with every
incompatible change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET, Meta, field

from pi.agent.compaction.budget import CompactionItem, exchanges
from pi.agent.compaction.compact import Facts
from pi.agent.env import FileError, FileFailed
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
from pi.agent.tools.approval import Approval, ToolApproval, ToolTier
from pi.agent.tools.define import make_tool, tool
from pi.agent.tools.effects import CallEffects, FileEffect
from pi.agent.tools.names import mcp_key, older_name, tool_matches
from pi.agent.tools.tool import AgentTool, FilePreview, ToolContext, ToolFailed, ToolResult
from pi.ai.auth.credentials import ApiKeyCredential, OAuthCredential
from pi.ai.auth.errors import LoginCancelled, LoginFailed
from pi.ai.builder import MessageBuilder
from pi.ai.collection import ModelProvider
from pi.ai.errors import (
    AuthenticationFailed,
    BadRequest,
    ContextOverflow,
    ProviderError,
    ProviderUnavailable,
    QuotaExhausted,
    RateLimited,
)
from pi.ai.event_stream import EventStream
from pi.ai.events import (
    Delta,
    Done,
    Failed,
    Start,
    StreamEvent,
    TextDelta,
    TextEnd,
    ThinkingDelta,
    ThinkingEnd,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
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
    add_usage,
)
from pi.ai.models.model import Model
from pi.ai.models.thinking_levels import ThinkingLevel
from pi.ai.provider import Provider
from pi.ai.request import Access, Call, StreamOptions
from pi.ai.token_estimates import message_tokens
from pi.base.clock import Clock
from pi.base.errors import PiError
from pi.base.foreign_text import hides_text, neutralise
from pi.base.formats import (
    BadFormat,
    Document,
    parse_front_matter,
    parse_json5,
    parse_jsonc,
    parse_toml,
    parse_yaml,
)
from pi.base.lazy_names import lazy_names
from pi.base.processes import BadFrame, Child, start_detached
from pi.base.records import Record, replace
from pi.base.terminal_text import one_line, sanitise, sanitise_keeping_style
from pi.coding.compaction.events import (
    CompactDecision,
    CompactingAnswer,
    CompactionResult,
    ContextFullAnswer,
    ContextFullEvent,
    SessionBeforeCompactEvent,
    SessionCompactEvent,
    SessionCompactFailedEvent,
    SessionCompactingEvent,
)
from pi.coding.compaction.strategies import Declined, Edits, HandOff, Strategy, Work
from pi.coding.consent import ConsentRequest
from pi.coding.extension_host.api.api import ExtensionAPI
from pi.coding.extension_host.api.auth import StoredCredential
from pi.coding.extension_host.api.context import CommandContext, ExtensionContext
from pi.coding.extension_host.api.custom_tools import (
    PendingAction,
    PendingActions,
    ToolSessionEvent,
)
from pi.coding.extension_host.api.processes import ExecResult, JobInfo
from pi.coding.extension_host.api.readers import Feed
from pi.coding.extension_host.api.services import ExtensionHttp
from pi.coding.extension_host.api.storage import OutputSink
from pi.coding.extension_host.api.sub_sessions import SessionHandle
from pi.coding.extension_host.contributions.commands import split_words
from pi.coding.extension_host.contributions.credentials import (
    AuthUnavailable,
    LoginCallbacks,
    OAuthClient,
    OAuthConfig,
)
from pi.coding.extension_host.contributions.model_wraps import (
    ModelRequest,
    ModelWrap,
    SendRequest,
)
from pi.coding.extension_host.contributions.providers import ProviderConfig
from pi.coding.extension_host.contributions.references import (
    Resource,
    ResourceHandler,
    ResourceRef,
    ResourceWindow,
)
from pi.coding.extension_host.contributions.tools import ToolWrap
from pi.coding.extension_host.contributions.views import CodeView, ToolView
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
    ToolResultAnswer,
    UserBashAnswer,
)
from pi.coding.extension_host.events.dialogs import (
    TerminalOpenedEvent,
    UiPromptEndEvent,
    UiPromptStartEvent,
)
from pi.coding.extension_host.events.queries import (
    CacheWarmingDecisionEvent,
    Notes,
    SessionBeforeForkEvent,
    SessionBeforeSwitchEvent,
    SessionBeforeTreeEvent,
    TreeDecision,
    UserBashEvent,
    UserCommandEndEvent,
    UserCommandStartEvent,
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
    ExtensionEvent,
    InputAnswer,
    InputEvent,
    ModelSelectEvent,
    ResourcesAnswer,
    ResourcesDiscoverEvent,
    SessionAbortEvent,
    SessionForkEvent,
    SessionInfoChangedEvent,
    SessionShutdownEvent,
    SessionStartEvent,
    SessionSwitchEvent,
    SessionTreeEvent,
    ThinkingLevelSelectEvent,
)
from pi.coding.extension_host.scope import Registration, Scope
from pi.coding.files.disk import FileStamp
from pi.coding.files.layers import FileChange, FileLayer, FileRead, FileWrite, FileWritten
from pi.coding.files.text import TextForm
from pi.coding.models.registry import ResolvedModel, writes_texts
from pi.coding.port.drawing import Drawable, FooterPart, Rows, Theme
from pi.coding.port.extensions import CheckResult, InputMode, Sink, ViewOptions
from pi.coding.port.queries import ExportForm
from pi.coding.port.remote import FeedItem, Remote, Replica
from pi.coding.port.results import ModelNotes, SubSession, TaskOptions
from pi.coding.port.ui import ExtensionUI, Option
from pi.coding.prompt import SystemPromptOptions
from pi.coding.resources.kinds import ResourceItem, Where
from pi.coding.resources.rules import Rule, parse_rule, path_matches
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
from pi.coding.shell.jobs import JobOutput
from pi.coding.shell.local import BashResult, ShellOptions, ShellSetup
from pi.coding.shell.spawns import ProcessLimits, SpawnRefused, SpawnRequest, SpawnWrap
from pi.coding.trust import ProjectTrustEvent, TrustAnswer

if TYPE_CHECKING:
    from pi.agent import events as agent_events
    from pi.ai.http.addresses import AddressPolicy, AddressRefused, address_kind
    from pi.ai.http.errors import BodyTooLarge, HttpError, TimedOut
    from pi.ai.http.exchange import HttpResponse, ResponseStream
    from pi.ai.http.request import Timeouts
    from pi.ai.images.formats import ImageModel, ImageRequest, ImageResult
    from pi.ai.plan_limits import PlanLimit, plan_limits
    from pi.ai.wire_support.sse import SseReader
    from pi.base.credential_files import credential_paths
    from pi.base.files import FileAccessError, read_regular, replace_file, replace_files
    from pi.base.http_server import serve_http
    from pi.base.installation import install_hint
    from pi.base.locks import FileLock, FileLocked
    from pi.base.processes.git import (
        GIT_PROGRAMS_QUERY,
        git_command,
        git_programs,
        remote_programs,
    )
    from pi.base.processes.sandbox import (
        SandboxedCommand,
        SandboxPolicy,
        SandboxProxy,
        SandboxSupport,
        SandboxUnavailable,
        find_sandbox,
        project_policy,
        sandboxed,
    )
    from pi.base.processes.terminal import ChildTerminal
    from pi.base.processes.tree import is_running
    from pi.base.protected_files import starts_by_scripts, starts_something
    from pi.base.server_guard import (
        GuardRefusal,
        ServerGuard,
        bearer,
        guard_for,
        is_loopback,
        make_token,
        port_number,
        read_token,
    )
    from pi.coding.claude_tools import ClaudeCall, claude_call, claude_names, pi_arguments
    from pi.coding.export.share import Shared
    from pi.coding.extension_host.api.workers import WorkerProcess
    from pi.coding.extension_host.filtering_proxy import FilteringProxy
    from pi.coding.files.copy_steps import WorkingCopyFailed
    from pi.coding.files.syntax import SYNTAX_LANGUAGES, can_parse_syntax, syntax_language
    from pi.coding.files.working_copies import (
        ClosedCopy,
        Patch,
        WorkingCopy,
        make_working_copy,
        sweep_working_copies,
    )
    from pi.coding.models.roles import (
        RoleModel,
        RoleReference,
        RoleResolution,
        RoleSettings,
        next_role,
        parse_role,
        resolve_role,
        role_overrides,
    )
    from pi.coding.resources.ignore import (
        IgnoreRule,
        compile_glob,
        is_ignored,
        parse_ignore_rules,
    )
    from pi.coding.shell.command_line.parts import (
        Assignment,
        CommandLine,
        CommandPart,
        CommandWord,
        Redirection,
    )
    from pi.coding.shell.command_line.reading import change_reason
    from pi.coding.shell.command_line.resolve import parse_command
    from pi.coding.tools.diff import Diff
    from pi.coding.tools.edit import EditedFile, Replacement, compute_edit, write_edit
else:
    # Few extensions use these: imported lazily, so that the others do not pay for them.
    __getattr__ = lazy_names(
        __name__,
        {
            "pi.ai.http.addresses": ("AddressPolicy", "AddressRefused", "address_kind"),
            "pi.ai.http.errors": ("BodyTooLarge", "HttpError", "TimedOut"),
            "pi.ai.http.request": ("Timeouts",),
            "pi.ai.http.exchange": ("HttpResponse", "ResponseStream"),
            "pi.ai.images.formats": ("ImageModel", "ImageRequest", "ImageResult"),
            "pi.ai.wire_support.sse": ("SseReader",),
            "pi.base.processes.sandbox": (
                "SandboxPolicy",
                "SandboxProxy",
                "SandboxSupport",
                "SandboxUnavailable",
                "SandboxedCommand",
                "find_sandbox",
                "project_policy",
                "sandboxed",
            ),
            "pi.base.processes.git": (
                "GIT_PROGRAMS_QUERY",
                "git_command",
                "git_programs",
                "remote_programs",
            ),
            "pi.base.credential_files": ("credential_paths",),
            "pi.base.files": ("FileAccessError", "read_regular", "replace_file", "replace_files"),
            "pi.base.http_server": ("serve_http",),
            "pi.base.installation": ("install_hint",),
            "pi.base.locks": ("FileLock", "FileLocked"),
            "pi.base.processes.terminal": ("ChildTerminal",),
            "pi.base.processes.tree": ("is_running",),
            "pi.base.protected_files": ("starts_by_scripts", "starts_something"),
            "pi.ai.plan_limits": ("PlanLimit", "plan_limits"),
            "pi.base.server_guard": (
                "GuardRefusal",
                "ServerGuard",
                "bearer",
                "guard_for",
                "is_loopback",
                "make_token",
                "port_number",
                "read_token",
            ),
            "pi.coding.claude_tools": (
                "ClaudeCall",
                "claude_call",
                "claude_names",
                "pi_arguments",
            ),
            "pi.coding.export.share": ("Shared",),
            "pi.coding.extension_host.api.workers": ("WorkerProcess",),
            "pi.coding.extension_host.filtering_proxy": ("FilteringProxy",),
            "pi.coding.files.syntax": (
                "SYNTAX_LANGUAGES",
                "can_parse_syntax",
                "syntax_language",
            ),
            "pi.coding.files.copy_steps": ("WorkingCopyFailed",),
            "pi.coding.files.working_copies": (
                "ClosedCopy",
                "Patch",
                "WorkingCopy",
                "make_working_copy",
                "sweep_working_copies",
            ),
            "pi.coding.resources.ignore": (
                "IgnoreRule",
                "compile_glob",
                "is_ignored",
                "parse_ignore_rules",
            ),
            "pi.coding.models.roles": (
                "RoleModel",
                "RoleReference",
                "RoleResolution",
                "RoleSettings",
                "next_role",
                "parse_role",
                "resolve_role",
                "role_overrides",
            ),
            "pi.coding.shell.command_line.parts": (
                "Assignment",
                "CommandLine",
                "CommandPart",
                "CommandWord",
                "Redirection",
            ),
            "pi.coding.shell.command_line.reading": ("change_reason",),
            "pi.coding.shell.command_line.resolve": ("parse_command",),
            "pi.coding.tools.diff": ("Diff",),
            "pi.coding.tools.edit": (
                "EditedFile",
                "Replacement",
                "compute_edit",
                "write_edit",
            ),
            "pi.agent.events": "agent_events",
        },
    )

__all__ = [
    "API_VERSION",
    "GIT_PROGRAMS_QUERY",
    "SYNTAX_LANGUAGES",
    "UNSET",
    "Access",
    "AddressPolicy",
    "AddressRefused",
    "AfterProviderResponseEvent",
    "AgentBeforeSettleEvent",
    "AgentEndEvent",
    "AgentSettledEvent",
    "AgentStartEvent",
    "AgentTool",
    "ApiKeyCredential",
    "Approval",
    "Assignment",
    "AssistantMessage",
    "AuthUnavailable",
    "AuthenticationFailed",
    "BadFormat",
    "BadFrame",
    "BadRequest",
    "BadResource",
    "BashResult",
    "BeforeAgentStartAnswer",
    "BeforeAgentStartEvent",
    "BeforeProviderHeadersEvent",
    "BeforeProviderRequestEvent",
    "Block",
    "BodyTooLarge",
    "Boundary",
    "BoundaryAnswer",
    "BoundaryContext",
    "BranchSummary",
    "CacheWarmingAnswer",
    "CacheWarmingDecisionEvent",
    "Call",
    "CallEffects",
    "Cancel",
    "CheckResult",
    "Child",
    "ChildTerminal",
    "ClaudeCall",
    "Clock",
    "ClosedCopy",
    "CodeView",
    "CommandContext",
    "CommandLine",
    "CommandPart",
    "CommandWord",
    "CompactDecision",
    "CompactingAnswer",
    "Compaction",
    "CompactionItem",
    "CompactionResult",
    "ConsentRequest",
    "ContextAnswer",
    "ContextEdit",
    "ContextEvent",
    "ContextFullAnswer",
    "ContextFullEvent",
    "ContextOverflow",
    "ContextUsage",
    "ContextWithSystemEvent",
    "Custom",
    "CustomMessage",
    "CustomMessageEntry",
    "Declined",
    "Delta",
    "Diff",
    "Document",
    "Done",
    "Drawable",
    "EditedFile",
    "Edits",
    "Entry",
    "EventStream",
    "ExecResult",
    "ExportForm",
    "ExtensionAPI",
    "ExtensionContext",
    "ExtensionError",
    "ExtensionEvent",
    "ExtensionHttp",
    "ExtensionUI",
    "Facts",
    "Failed",
    "Feed",
    "FeedItem",
    "FileAccessError",
    "FileChange",
    "FileEffect",
    "FileError",
    "FileFailed",
    "FileLayer",
    "FileLock",
    "FileLocked",
    "FilePreview",
    "FileRead",
    "FileStamp",
    "FileWrite",
    "FileWritten",
    "FilteringProxy",
    "FooterPart",
    "GuardRefusal",
    "HandOff",
    "HttpError",
    "HttpResponse",
    "IgnoreRule",
    "Image",
    "ImageModel",
    "ImageRequest",
    "ImageResult",
    "InputAnswer",
    "InputEvent",
    "InputMode",
    "Interrupt",
    "JobInfo",
    "JobOutput",
    "Json",
    "LoginCallbacks",
    "LoginCancelled",
    "LoginFailed",
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
    "ModelNotes",
    "ModelProvider",
    "ModelRequest",
    "ModelSelectEvent",
    "ModelWrap",
    "Next",
    "Notes",
    "OAuthClient",
    "OAuthConfig",
    "OAuthCredential",
    "Option",
    "OutputSink",
    "Partial",
    "Patch",
    "PendingAction",
    "PendingActions",
    "PiError",
    "PlanLimit",
    "Policy",
    "ProcessLimits",
    "ProjectTrustEvent",
    "Provider",
    "ProviderConfig",
    "ProviderError",
    "ProviderUnavailable",
    "QuotaExhausted",
    "RateLimited",
    "Record",
    "Redirection",
    "Registration",
    "Remote",
    "Replacement",
    "Replica",
    "Request",
    "ResolvedModel",
    "Resource",
    "ResourceHandler",
    "ResourceItem",
    "ResourceRef",
    "ResourceWindow",
    "ResourcesAnswer",
    "ResourcesDiscoverEvent",
    "ResponseStream",
    "RoleModel",
    "RoleReference",
    "RoleResolution",
    "RoleSettings",
    "Rows",
    "Rule",
    "SandboxPolicy",
    "SandboxProxy",
    "SandboxSupport",
    "SandboxUnavailable",
    "SandboxedCommand",
    "Scope",
    "SendRequest",
    "ServerGuard",
    "SessionAbortEvent",
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
    "Shared",
    "ShellOptions",
    "ShellSetup",
    "Sink",
    "SpawnRefused",
    "SpawnRequest",
    "SpawnWrap",
    "SseReader",
    "StaleSession",
    "Start",
    "StopRun",
    "StoredCredential",
    "Strategy",
    "StreamEvent",
    "StreamOptions",
    "SubSession",
    "SystemMessage",
    "SystemPromptOptions",
    "TaskOptions",
    "TerminalOpenedEvent",
    "Text",
    "TextDelta",
    "TextEnd",
    "TextForm",
    "Theme",
    "Thinking",
    "ThinkingDelta",
    "ThinkingEnd",
    "ThinkingLevel",
    "ThinkingLevelSelectEvent",
    "TimedOut",
    "Timeouts",
    "TokenTotals",
    "ToolApproval",
    "ToolCall",
    "ToolCallDelta",
    "ToolCallEnd",
    "ToolCallEvent",
    "ToolCallStart",
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
    "ToolSessionEvent",
    "ToolTier",
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
    "UserCommandEndEvent",
    "UserCommandStartEvent",
    "UserMessage",
    "ViewOptions",
    "Where",
    "Work",
    "WorkerProcess",
    "WorkingCopy",
    "WorkingCopyFailed",
    "add_usage",
    "address_kind",
    "agent_events",
    "bearer",
    "can_parse_syntax",
    "change_reason",
    "claude_call",
    "claude_names",
    "compile_glob",
    "compute_edit",
    "credential_paths",
    "exchanges",
    "field",
    "find_sandbox",
    "git_command",
    "git_programs",
    "guard_for",
    "hides_text",
    "install_hint",
    "is_ignored",
    "is_loopback",
    "is_running",
    "make_token",
    "make_tool",
    "make_working_copy",
    "mcp_key",
    "message_tokens",
    "neutralise",
    "next_role",
    "older_name",
    "one_line",
    "parse_command",
    "parse_front_matter",
    "parse_ignore_rules",
    "parse_json5",
    "parse_jsonc",
    "parse_role",
    "parse_rule",
    "parse_toml",
    "parse_yaml",
    "path_matches",
    "pi_arguments",
    "plan_limits",
    "port_number",
    "project_policy",
    "read_regular",
    "read_token",
    "remote_programs",
    "replace",
    "replace_file",
    "replace_files",
    "resolve_role",
    "role_overrides",
    "sandboxed",
    "sanitise",
    "sanitise_keeping_style",
    "serve_http",
    "split_words",
    "start_detached",
    "starts_by_scripts",
    "starts_something",
    "sweep_working_copies",
    "syntax_language",
    "tool",
    "tool_matches",
    "usage_of",
    "write_edit",
    "writes_texts",
]

"""The public API of extensions.

    from pi.extension import ExtensionAPI

    def extension(pi: ExtensionAPI) -> None:
        @pi.command("hello")
        async def hello(args, ctx):
            ctx.ui.notify(f"Hello, {args}!")

This module only re-exports names, rarely used ones lazily. ``as`` marks what is exported; the
comments are the groups of docs/reference/extension-api.md. `pi.extension.guards` has the names for
extensions that check commands. ``API_VERSION`` is raised with every incompatible change.
"""
# ruff: isort: skip_file

from __future__ import annotations

from typing import TYPE_CHECKING

from pi.base.lazy_names import lazy_names

# Start here.
from pi.coding.extension_host.api.api import ExtensionAPI as ExtensionAPI
from pi.coding.extension_host.api.context import (
    ExtensionContext as ExtensionContext,
    CommandContext as CommandContext,
)
from pi.coding.port.ui import ExtensionUI as ExtensionUI
from pi.agent.tools.define import tool as tool, make_tool as make_tool
from pi.agent.tools.tool import (
    ToolContext as ToolContext,
    ToolResult as ToolResult,
    ToolFailed as ToolFailed,
)
from pi.ai.messages import Text as Text, Image as Image, Json as Json
from pi.base.records import Record as Record
from msgspec import Meta as Meta
from pi.base.errors import PiError as PiError
from pi.coding.extension_host.events.session import (
    SessionStartEvent as SessionStartEvent,
    SessionShutdownEvent as SessionShutdownEvent,
    InputEvent as InputEvent,
    InputAnswer as InputAnswer,
)
from pi.coding.extension_host.events.run import (
    BeforeAgentStartEvent as BeforeAgentStartEvent,
    ToolCallEvent as ToolCallEvent,
    ToolResultEvent as ToolResultEvent,
)
from pi.coding.extension_host.events.answers import (
    BeforeAgentStartAnswer as BeforeAgentStartAnswer,
    Block as Block,
    ToolResultAnswer as ToolResultAnswer,
)
from pi.coding.extension_host.contributions.views import ToolView as ToolView
from pi.coding.port.extensions import ViewOptions as ViewOptions
from pi.coding.port.drawing import Theme as Theme
from pi.base.terminal_text import one_line as one_line

# Tools.
from pi.agent.tools.approval import ToolApproval as ToolApproval, ToolTier as ToolTier
from pi.agent.tools.effects import CallEffects as CallEffects, FileEffect as FileEffect
from pi.agent.tools.tool import AgentTool as AgentTool, FilePreview as FilePreview
from pi.coding.extension_host.api.pending_actions import (
    PendingAction as PendingAction,
    PendingActions as PendingActions,
)
from pi.coding.extension_host.api.custom_tools import ToolSessionEvent as ToolSessionEvent
from pi.coding.extension_host.contributions.tools import ToolWrap as ToolWrap

# Events and answers.
from pi.agent import events as _agent_events
from pi.coding.compaction.events import (
    CompactDecision as CompactDecision,
    CompactingAnswer as CompactingAnswer,
    ContextFullAnswer as ContextFullAnswer,
    ContextFullEvent as ContextFullEvent,
    SessionBeforeCompactEvent as SessionBeforeCompactEvent,
    SessionCompactEvent as SessionCompactEvent,
    SessionCompactFailedEvent as SessionCompactFailedEvent,
    SessionCompactingEvent as SessionCompactingEvent,
)
from pi.coding.extension_host.events.answers import (
    BoundaryAnswer as BoundaryAnswer,
    CacheWarmingAnswer as CacheWarmingAnswer,
    Cancel as Cancel,
    ContextAnswer as ContextAnswer,
    MessageEndAnswer as MessageEndAnswer,
    UserBashAnswer as UserBashAnswer,
)
from pi.coding.extension_host.events.dialogs import (
    TerminalOpenedEvent as TerminalOpenedEvent,
    UiPromptEndEvent as UiPromptEndEvent,
    UiPromptStartEvent as UiPromptStartEvent,
)
from pi.coding.extension_host.events.queries import (
    CacheWarmingDecisionEvent as CacheWarmingDecisionEvent,
    Notes as Notes,
    SessionBeforeForkEvent as SessionBeforeForkEvent,
    SessionBeforeSwitchEvent as SessionBeforeSwitchEvent,
    SessionBeforeTreeEvent as SessionBeforeTreeEvent,
    TreeDecision as TreeDecision,
    UserBashEvent as UserBashEvent,
    UserCommandEndEvent as UserCommandEndEvent,
    UserCommandStartEvent as UserCommandStartEvent,
)
from pi.coding.extension_host.events.run import (
    AfterProviderResponseEvent as AfterProviderResponseEvent,
    AgentBeforeSettleEvent as AgentBeforeSettleEvent,
    BeforeProviderHeadersEvent as BeforeProviderHeadersEvent,
    BeforeProviderRequestEvent as BeforeProviderRequestEvent,
    BoundaryContext as BoundaryContext,
    ContextEvent as ContextEvent,
    ContextWithSystemEvent as ContextWithSystemEvent,
    MessageEndEvent as MessageEndEvent,
    MessageUpdateEvent as MessageUpdateEvent,
    TurnEndEvent as TurnEndEvent,
    TurnStartEvent as TurnStartEvent,
)
from pi.coding.extension_host.events.session import (
    ExtensionEvent as ExtensionEvent,
    ModelSelectEvent as ModelSelectEvent,
    ResourcesAnswer as ResourcesAnswer,
    ResourcesDiscoverEvent as ResourcesDiscoverEvent,
    SessionAbortEvent as SessionAbortEvent,
    SessionForkEvent as SessionForkEvent,
    SessionInfoChangedEvent as SessionInfoChangedEvent,
    SessionSwitchEvent as SessionSwitchEvent,
    SessionTreeEvent as SessionTreeEvent,
    ThinkingLevelSelectEvent as ThinkingLevelSelectEvent,
)
from pi.coding.trust import ProjectTrustEvent as ProjectTrustEvent, TrustAnswer as TrustAnswer

# Messages.
from pi.ai.builder import MessageBuilder as MessageBuilder
from pi.ai.events import (
    Delta as Delta,
    Done as Done,
    Failed as Failed,
    StreamEvent as StreamEvent,
    TextDelta as TextDelta,
    ThinkingDelta as ThinkingDelta,
    ToolCallDelta as ToolCallDelta,
    ToolCallEnd as ToolCallEnd,
    ToolCallStart as ToolCallStart,
)
from pi.ai.messages import (
    AssistantMessage as AssistantMessage,
    Message as Message,
    SystemMessage as SystemMessage,
    Thinking as Thinking,
    ToolCall as ToolCall,
    ToolResultMessage as ToolResultMessage,
    Usage as Usage,
    UserMessage as UserMessage,
)

# Models.
from pi.ai.event_stream import EventStream as EventStream
from pi.ai.models.model import Model as Model
from pi.ai.models.thinking_levels import ThinkingLevel as ThinkingLevel
from pi.ai.request import Access as Access, Call as Call, StreamOptions as StreamOptions
from pi.coding.extension_host.contributions.model_wraps import (
    ModelRequest as ModelRequest,
    ModelWrap as ModelWrap,
    SendRequest as SendRequest,
)
from pi.coding.models.registry import ResolvedModel as ResolvedModel, writes_texts as writes_texts
from pi.coding.port.results import ModelNotes as ModelNotes

# Providers, logins and HTTP.
from pi.ai.auth.credentials import OAuthCredential as OAuthCredential
from pi.ai.auth.errors import LoginCancelled as LoginCancelled, LoginFailed as LoginFailed
from pi.ai.collection import ModelProvider as ModelProvider
from pi.ai.errors import (
    AuthenticationFailed as AuthenticationFailed,
    ProviderError as ProviderError,
)
from pi.ai.provider import Provider as Provider
from pi.coding.extension_host.api.auth import StoredCredential as StoredCredential
from pi.coding.extension_host.contributions.credentials import (
    LoginCallbacks as LoginCallbacks,
    OAuthClient as OAuthClient,
    OAuthConfig as OAuthConfig,
)
from pi.coding.extension_host.contributions.providers import ProviderConfig as ProviderConfig

# Runs.
from pi.agent.policy import (
    Boundary as Boundary,
    Interrupt as Interrupt,
    Next as Next,
    Partial as Partial,
    Policy as Policy,
    Request as Request,
    StopRun as StopRun,
    ToolRefused as ToolRefused,
)
from pi.agent.response import MessageToken as MessageToken

# Sessions.
from pi.coding.extension_host.api.readers import Feed as Feed
from pi.coding.extension_host.api.sub_sessions import SessionHandle as SessionHandle
from pi.coding.extension_host.control import SessionControl as SessionControl
from pi.coding.extension_host.discovery.manifest import API_VERSION as API_VERSION
from pi.coding.extension_host.errors import (
    ExtensionError as ExtensionError,
    StaleSession as StaleSession,
)
from pi.coding.extension_host.scope import Registration as Registration, Scope as Scope
from pi.coding.port.extensions import CheckResult as CheckResult, Sink as Sink
from pi.coding.port.queries import ExportForm as ExportForm
from pi.coding.port.remote import Remote as Remote, Replica as Replica
from pi.coding.port.results import SubSession as SubSession, TaskOptions as TaskOptions
from pi.coding.prompt import SystemPromptOptions as SystemPromptOptions
from pi.coding.session.entries import (
    BranchSummary as BranchSummary,
    Compaction as Compaction,
    Custom as Custom,
    CustomMessage as CustomMessage,
    CustomMessageEntry as CustomMessageEntry,
    Entry as Entry,
    MessageEntry as MessageEntry,
    SessionMessage as SessionMessage,
)
from pi.coding.session.statistics import (
    ContextUsage as ContextUsage,
    SessionStats as SessionStats,
    usage_of as usage_of,
)

# Compaction.
from pi.coding.compaction.events import CompactionResult as CompactionResult
from pi.coding.compaction.strategies import (
    Declined as Declined,
    HandOff as HandOff,
    Strategy as Strategy,
    Work as Work,
)

# Files and resources.
from pi.agent.env import FileFailed as FileFailed
from pi.coding.consent import ConsentRequest as ConsentRequest
from pi.coding.extension_host.contributions.references import (
    Resource as Resource,
    ResourceHandler as ResourceHandler,
    ResourceRef as ResourceRef,
    ResourceWindow as ResourceWindow,
)
from pi.coding.files.layers import (
    FileChange as FileChange,
    FileLayer as FileLayer,
    FileRead as FileRead,
    FileWrite as FileWrite,
    FileWritten as FileWritten,
)
from pi.coding.resources.kinds import ResourceItem as ResourceItem, Where as Where
from pi.coding.resources.rules import Rule as Rule, path_matches as path_matches
from pi.coding.resources.sources import BadResource as BadResource

# Programs.
from pi.base.processes import BadFrame as BadFrame, Child as Child, start_detached as start_detached
from pi.coding.extension_host.api.processes import ExecResult as ExecResult, JobInfo as JobInfo
from pi.coding.extension_host.api.storage import OutputSink as OutputSink
from pi.coding.shell.jobs import JobOutput as JobOutput
from pi.coding.shell.local import BashResult as BashResult, ShellSetup as ShellSetup
from pi.coding.shell.spawns import (
    SpawnRefused as SpawnRefused,
    SpawnRequest as SpawnRequest,
    SpawnWrap as SpawnWrap,
)

# The screen.
from pi.coding.extension_host.contributions.views import CodeView as CodeView
from pi.coding.port.drawing import Drawable as Drawable, FooterPart as FooterPart, Rows as Rows
from pi.coding.port.extensions import InputMode as InputMode
from pi.coding.port.ui import Option as Option

# Records, texts and time.
from msgspec import UNSET as UNSET, field as field
from pi.base.clock import Clock as Clock
from pi.base.foreign_text import neutralise as neutralise
from pi.base.formats import (
    BadFormat as BadFormat,
    parse_json5 as parse_json5,
    parse_yaml as parse_yaml,
)
from pi.base.records import replace as replace
from pi.base.terminal_text import (
    sanitise as sanitise,
    sanitise_keeping_style as sanitise_keeping_style,
)

# Start here.
AgentEndEvent = _agent_events.AgentEnd

# Events and answers.
AgentSettledEvent = _agent_events.AgentSettled
AgentStartEvent = _agent_events.AgentStart
MessageStartEvent = _agent_events.MessageStart
ToolExecutionEndEvent = _agent_events.ToolExecutionEnd
ToolExecutionStartEvent = _agent_events.ToolExecutionStart
ToolExecutionUpdateEvent = _agent_events.ToolExecutionUpdate

if TYPE_CHECKING:
    # Tools.
    from pi.coding.tools.diff import Diff as Diff

    # Models.
    from pi.ai.images.formats import (
        ImageModel as ImageModel,
        ImageRequest as ImageRequest,
        ImageResult as ImageResult,
    )
    from pi.coding.models.roles import (
        RoleModel as RoleModel,
        next_role as next_role,
        parse_role as parse_role,
        resolve_role as resolve_role,
    )

    # Providers, logins and HTTP.
    from pi.ai.http.errors import BodyTooLarge as BodyTooLarge, HttpError as HttpError
    from pi.ai.http.exchange import HttpResponse as HttpResponse
    from pi.ai.http.request import Timeouts as Timeouts
    from pi.ai.wire_support.sse import SseReader as SseReader

    # Sessions.
    from pi.coding.export.share import Shared as Shared

    # Files and resources.
    from pi.base.files import read_regular as read_regular, replace_file as replace_file
    from pi.coding.files.syntax import (
        SYNTAX_LANGUAGES as SYNTAX_LANGUAGES,
        can_parse_syntax as can_parse_syntax,
        syntax_language as syntax_language,
    )

    # Programs.
    from pi.base.installation import install_hint as install_hint
    from pi.base.processes.terminal import ChildTerminal as ChildTerminal
    from pi.base.processes.tree import is_running as is_running
    from pi.coding.extension_host.api.workers import WorkerProcess as WorkerProcess
else:
    # Few extensions use these: imported lazily, so that the others do not pay for them.
    __getattr__ = lazy_names(
        __name__,
        {
            "pi.ai.http.errors": (
                "BodyTooLarge",
                "HttpError",
            ),
            "pi.ai.http.exchange": ("HttpResponse",),
            "pi.ai.http.request": ("Timeouts",),
            "pi.ai.images.formats": (
                "ImageModel",
                "ImageRequest",
                "ImageResult",
            ),
            "pi.ai.wire_support.sse": ("SseReader",),
            "pi.base.files": (
                "read_regular",
                "replace_file",
            ),
            "pi.base.installation": ("install_hint",),
            "pi.base.processes.terminal": ("ChildTerminal",),
            "pi.base.processes.tree": ("is_running",),
            "pi.coding.export.share": ("Shared",),
            "pi.coding.extension_host.api.workers": ("WorkerProcess",),
            "pi.coding.files.syntax": (
                "SYNTAX_LANGUAGES",
                "can_parse_syntax",
                "syntax_language",
            ),
            "pi.coding.models.roles": (
                "RoleModel",
                "next_role",
                "parse_role",
                "resolve_role",
            ),
            "pi.coding.tools.diff": ("Diff",),
        },
    )

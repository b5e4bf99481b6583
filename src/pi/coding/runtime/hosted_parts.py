"""Parts of the session facade for extensions; each calls the object that does the work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pi.agent.agent import StreamFn
from pi.agent.conversation import prompt_text
from pi.agent.tools.tool import AgentTool, FilePreview
from pi.ai.auth.storage import AuthStorage
from pi.ai.factory import Network, make_services
from pi.ai.messages import AssistantMessage, Context, Message, ToolCall
from pi.ai.models.model import Model, ThinkingLevel
from pi.ai.request import StreamOptions
from pi.ai.stream import EventStream
from pi.base.clock import Clock
from pi.coding.blobs.artifacts import Artifacts
from pi.coding.blobs.store import BlobStore
from pi.coding.extension_host.events.policy import options_from
from pi.coding.files.local import LocalFiles
from pi.coding.models.registry import ModelRegistry
from pi.coding.port.results import SessionState
from pi.coding.prompt import SystemPromptOptions
from pi.coding.resources.discovery import Resources
from pi.coding.resources.kinds import Where
from pi.coding.runtime.live import LiveSession
from pi.coding.runtime.session.agent_session import AgentSession
from pi.coding.session.context import convert_to_llm
from pi.coding.session.entries import CustomMessage, KnownEntry, SessionMessage
from pi.coding.session.log import SessionLog
from pi.coding.session.views import ContextUsage, SessionStats
from pi.coding.settings.settings import Settings
from pi.coding.trust import needs_trust

if TYPE_CHECKING:  # lazy: importing it would load the HTTP client before any request is made
    from pi.ai.http.client import HttpClient
    from pi.ai.wire_support.exchange import Services


class HostedPlace:
    """Implements ``SessionPlace``."""

    def __init__(self, core: LiveSession, session: AgentSession) -> None:
        self._core = core
        self._session = session
        self._services: Services | None = None

    async def close(self) -> None:
        """Close connections."""
        if self._services is not None:
            await self._services.close()

    @property
    def cwd(self) -> Path:
        """The working directory of the session."""
        return self._core.workspace.cwd

    @property
    def trusted(self) -> bool:
        """Whether the project is trusted, or has no files that need trust."""
        workspace, machine = self._core.workspace, self._core.machine
        if workspace.trust.source == "nothing to trust":
            # Checked now, not when trust was decided: files may have been added since.
            return not needs_trust(workspace.cwd, home=machine.home)
        return workspace.trust.trusted

    @property
    def where(self) -> Where:
        """Where resources are searched, and which of them may be read."""
        workspace, machine = self._core.workspace, self._core.machine
        return Where(
            cwd=workspace.cwd,
            home=machine.home,
            agent_dir=machine.agent_dir,
            trusts=workspace.trust.trusts,
        )

    @property
    def resources(self) -> Resources:
        """Skills, templates and instructions that were found."""
        return self._core.workspace.resources

    @property
    def settings(self) -> Settings:
        """The merged settings."""
        return self._core.workspace.settings

    @property
    def files(self) -> LocalFiles:
        """File access with all file layers."""
        return self._core.workspace.files

    @property
    def artifacts(self) -> Artifacts:
        """Long outputs of the session."""
        return self._core.artifacts

    @property
    def blobs(self) -> BlobStore:
        """Content-addressed blobs, shared by all sessions."""
        return BlobStore(self._core.machine.agent_dir / "blobs")

    @property
    def credentials(self) -> AuthStorage:
        """API keys and logins."""
        return self._session.accounts.storage

    @property
    def environ(self) -> Mapping[str, str]:
        """The environment variables of pi."""
        return self._core.workspace.environment.values

    @property
    def clock(self) -> Clock:
        """The clock."""
        return self._core.machine.clock

    def http(self) -> HttpClient:
        """The HTTP client, configured by the settings."""
        if self._services is None:
            proxy = self.settings.values.http_proxy
            self._services = make_services(self.environ, self.clock, Network(proxy=proxy))
        return self._services.http


class HostedTalk:
    """Implements ``SessionTalk``."""

    def __init__(self, core: LiveSession, session: AgentSession) -> None:
        self._core = core
        self._session = session

    @property
    def log(self) -> SessionLog:
        """The log of the session."""
        return self._core.log

    @property
    def pending(self) -> Sequence[Any]:
        """Messages in the queues."""
        inbox = self._core.agent.inbox
        return inbox.steering + inbox.follow_ups

    @property
    def partial_answer(self) -> AssistantMessage | None:
        """The partial answer that is being streamed."""
        return self._core.agent.progress.partial_answer

    def messages(self) -> Sequence[SessionMessage]:
        """Return the messages of the model's context."""
        return self._core.conversation.messages()

    def convert(self, messages: Sequence[SessionMessage]) -> Sequence[Message]:
        """Convert session messages to messages for models."""
        return convert_to_llm(messages)

    async def add(self, entry: KnownEntry) -> KnownEntry:
        """Append an entry; returns it as stored."""
        return await self._core.append_entry(entry)

    async def say(self, message: CustomMessage) -> None:
        """Append a message to the conversation of an idle session."""
        await self._core.append_message(message)

    async def rename(self, name: str) -> None:
        """Rename the session."""
        await self._session.facts.rename(name)

    async def label(self, id: str, label: str | None) -> None:
        """Set the label of an entry."""
        await self._session.facts.label(id, label)


class HostedModels:
    """Implements ``SessionModels``."""

    def __init__(self, core: LiveSession, session: AgentSession, stream: StreamFn) -> None:
        self._core = core
        self._session = session
        self._stream = stream

    @property
    def registry(self) -> ModelRegistry:
        """The known models."""
        return self._core.registry

    @property
    def current(self) -> Model | None:
        """The selected model."""
        return self._session.models.current

    @property
    def thinking_level(self) -> ThinkingLevel:
        """The thinking level."""
        return self._core.agent.thinking_level

    @property
    def scoped(self) -> Sequence[Model]:
        """The models to cycle through; empty means all."""
        return tuple(choice.model for choice in self._core.scope)

    async def use(self, model: Model) -> bool:
        """Select a model. Returns False if it has no credentials."""
        if not self._core.registry.has_auth(model.provider):
            return False
        await self._session.models.use(model, source="set")
        return True

    async def set_thinking_level(self, level: ThinkingLevel) -> None:
        """Set the thinking level."""
        await self._session.models.set_thinking_level(level)

    def ask(self, model: Model, context: Context, options: StreamOptions) -> EventStream:
        """Send a request to a model outside of the conversation."""
        return self._stream(model, context, options)


class HostedTools:
    """Implements ``SessionTools``."""

    def __init__(self, core: LiveSession) -> None:
        self._core = core

    def active(self) -> Sequence[str]:
        """The names of the active tools."""
        return self._core.toolbox.active_names

    def all(self) -> Sequence[AgentTool]:
        """Return all tools."""
        return self._core.toolbox.listed()

    def select(self, names: Sequence[str]) -> None:
        """Activate exactly these tools from the next request on."""
        self._core.toolbox.select(names)
        self.refresh()

    def preview(self, call: ToolCall) -> FilePreview | None:
        """Return the file that a partial tool call would write."""
        tool = next((tool for tool in self._core.agent.tools if tool.name == call.name), None)
        if tool is None or tool.preview is None:
            return None
        mended = tool.prepare_arguments(call.arguments) if tool.prepare_arguments else None
        return tool.preview(mended or call.arguments)

    def refresh(self) -> None:
        """Declare changed tools with the next request."""
        if self._core.agent.is_running:  # otherwise the next run starts with the current tools
            self._core.agent.tools = self._core.toolbox.active()


class HostedFacts:
    """Implements ``SessionFacts``."""

    def __init__(self, core: LiveSession, session: AgentSession) -> None:
        self._core = core
        self._session = session

    def state(self) -> SessionState:
        """Return the current state."""
        return self._session.facts.state()

    def context_usage(self) -> ContextUsage | None:
        """Return the usage of the context window."""
        return self._session.facts.context_usage()

    def stats(self) -> SessionStats:
        """Return token counts and cost."""
        return self._session.facts.stats()

    def since_session_ms(self) -> int:
        """Milliseconds since this session started."""
        return self._core.since_session_ms()

    def system_prompt(self) -> str:
        """Return the current system prompt."""
        return prompt_text(self._session.prompts.sections())

    def prompt_options(self) -> SystemPromptOptions:
        """Return the parts of the system prompt."""
        return options_from(self._session.prompts.parts())

    def commands(self) -> Sequence[Any]:
        """Return all slash commands."""
        return self._session.facts.commands()

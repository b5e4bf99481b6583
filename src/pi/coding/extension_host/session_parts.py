"""Protocols of the parts of a session for extensions; ``runtime`` implements them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from pi.agent.policy import Interrupt, Request
from pi.agent.response import MessageToken
from pi.agent.tools.tool import AgentTool, FilePreview
from pi.ai.auth.storage import AuthStorage
from pi.ai.messages import Context, Image, Json, Message, Text, ToolCall
from pi.ai.models.model import Model, ThinkingLevel
from pi.ai.request import StreamOptions
from pi.ai.stream import EventStream
from pi.base.clock import Clock
from pi.coding.blobs.artifacts import Artifacts
from pi.coding.blobs.store import BlobStore
from pi.coding.extension_host.scope import Scope
from pi.coding.files.local import LocalFiles
from pi.coding.models.registry import ModelRegistry
from pi.coding.prompt import SystemPromptOptions
from pi.coding.resources.discovery import Resources
from pi.coding.resources.kinds import Where
from pi.coding.session.entries import CustomMessage, KnownEntry, SessionMessage
from pi.coding.session.log import SessionLog
from pi.coding.session.views import ContextUsage, SessionStats
from pi.coding.settings.settings import Settings

if TYPE_CHECKING:  # importing it would load the HTTP client before any request is made
    from pi.ai.http.client import HttpClient

DeliverAs: TypeAlias = Literal["steer", "follow_up", "next_turn"]
Content: TypeAlias = str | Sequence[Text | Image]


class SessionPlace(Protocol):
    """Working directory, files, settings and services of a session."""

    @property
    def cwd(self) -> Path:
        """The working directory."""
        ...

    @property
    def trusted(self) -> bool:
        """Whether the project is trusted, or has no files that need trust."""
        ...

    @property
    def where(self) -> Where:
        """Where resources are searched, and what of it may be read."""
        ...

    @property
    def resources(self) -> Resources:
        """Skills, templates and instructions found at the start."""
        ...

    @property
    def settings(self) -> Settings:
        """The current settings."""
        ...

    @property
    def files(self) -> LocalFiles:
        """File access as tools use it."""
        ...

    @property
    def artifacts(self) -> Artifacts:
        """Stored long outputs."""
        ...

    @property
    def blobs(self) -> BlobStore:
        """Content-addressed bytes."""
        ...

    @property
    def credentials(self) -> AuthStorage:
        """API keys and logins."""
        ...

    @property
    def environ(self) -> Mapping[str, str]:
        """The environment variables of pi."""
        ...

    @property
    def clock(self) -> Clock:
        """The clock."""
        ...

    def http(self) -> HttpClient:
        """The HTTP client, configured by the settings."""
        ...


class SessionTalk(Protocol):
    """The conversation: its entries and messages, without starting a run."""

    @property
    def log(self) -> SessionLog:
        """The session log."""
        ...

    @property
    def pending(self) -> Sequence[Any]:
        """Messages that wait for delivery."""
        ...

    @property
    def partial_answer(self) -> Any:
        """The answer that is being streamed, so far."""
        ...

    def messages(self) -> Sequence[SessionMessage]:
        """The messages of the session for the next request."""
        ...

    def convert(self, messages: Sequence[SessionMessage]) -> Sequence[Message]:
        """Convert session messages to model messages."""
        ...

    async def add(self, entry: KnownEntry) -> KnownEntry:
        """Append an entry."""
        ...

    async def say(self, message: CustomMessage) -> None:
        """Append a message while the session is idle."""
        ...

    async def rename(self, name: str) -> None:
        """Rename the session."""
        ...

    async def label(self, id: str, label: str | None) -> None:
        """Set the label of an entry."""
        ...


class SessionRuns(Protocol):
    """Starting, joining and aborting runs. Never waits for a run."""

    @property
    def idle(self) -> bool:
        """Whether no run is in progress."""
        ...

    @property
    def message_token(self) -> MessageToken | None:
        """Identifies the answer that is being streamed."""
        ...

    def scope(self, outer: Scope) -> Scope:
        """A scope that is closed with the current run."""
        ...

    def begin(self, message: CustomMessage) -> None:
        """Start a run with a message."""
        ...

    def prompt(self, text: str, images: Sequence[Image], *, expand: bool, meta: Json) -> None:
        """Start a run as if the user had sent the prompt; ``meta`` is stored with it."""
        ...

    async def queue(self, message: Any, *, follow_up: bool) -> None:
        """Queue a message for the current run."""
        ...

    def next_request(self) -> Request:
        """The next model request as it is now; nothing is sent."""
        ...

    def interrupt(self, token: MessageToken, cut: Interrupt) -> bool:
        """Interrupt an answer and repeat the request. Returns False if the answer has ended."""
        ...

    def abort(self) -> None:
        """Request the end of the run."""
        ...

    async def compact(self, instructions: str) -> Any:
        """Compact the conversation."""
        ...

    def refresh_policies(self) -> None:
        """Use the current policies from the next run on."""
        ...


class SessionModels(Protocol):
    """Models and thinking level of a session."""

    @property
    def registry(self) -> ModelRegistry:
        """The known models."""
        ...

    @property
    def current(self) -> Model | None:
        """The current model."""
        ...

    @property
    def thinking_level(self) -> ThinkingLevel:
        """The current thinking level."""
        ...

    @property
    def scoped(self) -> Sequence[Model]:
        """The models to cycle through; empty means all."""
        ...

    async def use(self, model: Model) -> bool:
        """Switch to another model. Returns whether it has credentials."""
        ...

    async def set_thinking_level(self, level: ThinkingLevel) -> None:
        """Change the thinking level."""
        ...

    def ask(self, model: Model, context: Context, options: StreamOptions) -> EventStream:
        """Send a request outside the conversation."""
        ...


class SessionTools(Protocol):
    """The tools of a session."""

    def active(self) -> Sequence[str]:
        """The active tools."""
        ...

    def all(self) -> Sequence[AgentTool]:
        """Every tool that can be activated."""
        ...

    def select(self, names: Sequence[str]) -> None:
        """Activate exactly these tools from the next request on."""
        ...

    def preview(self, call: ToolCall) -> FilePreview | None:
        """The file as a call would leave it, as far as its arguments have been streamed."""
        ...

    def refresh(self) -> None:
        """Declare the current tools with the next request."""
        ...


class SessionFacts(Protocol):
    """Read-only queries of a session."""

    def state(self) -> Any:
        """The current state."""
        ...

    def context_usage(self) -> ContextUsage | None:
        """How full the context window is."""
        ...

    def stats(self) -> SessionStats:
        """Tokens and cost so far."""
        ...

    def since_session_ms(self) -> int:
        """Milliseconds since the session began."""
        ...

    def system_prompt(self) -> str:
        """The current system prompt."""
        ...

    def prompt_options(self) -> SystemPromptOptions:
        """The parts of the system prompt."""
        ...

    def commands(self) -> Sequence[Any]:
        """All slash commands."""
        ...


class SessionEvents(Protocol):
    """Public events of a session."""

    def subscribe(self, listener: Callable[[Any], None]) -> Callable[[], None]:
        """Subscribe ``listener`` to every public event. Returns an unsubscribe function."""
        ...

    def on_moved(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call ``listener`` when the leaf or the selection changes without an event."""
        ...

    async def emit(self, event: Any) -> None:
        """Emit a public event."""
        ...

    def emit_soon(self, event: Any) -> None:
        """Emit a public event after those that are being dispatched."""
        ...

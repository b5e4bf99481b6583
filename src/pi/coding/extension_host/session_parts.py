"""The parts of a session as extensions reach them; ``runtime`` implements these."""

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
    """Where a session works, and what it works with there."""

    @property
    def cwd(self) -> Path:
        """The directory that it works in."""
        ...

    @property
    def trusted(self) -> bool:
        """Whether the project is trusted, or has nothing now that would need trust."""
        ...

    @property
    def where(self) -> Where:
        """Where resources are looked for, and what of it may be read."""
        ...

    @property
    def resources(self) -> Resources:
        """Skills, templates and instructions that were found when it began."""
        ...

    @property
    def settings(self) -> Settings:
        """The settings that hold."""
        ...

    @property
    def files(self) -> LocalFiles:
        """The one door to files."""
        ...

    @property
    def artifacts(self) -> Artifacts:
        """Long outputs."""
        ...

    @property
    def blobs(self) -> BlobStore:
        """Bytes by the hash of what they are."""
        ...

    @property
    def credentials(self) -> AuthStorage:
        """Keys and logins."""
        ...

    @property
    def environ(self) -> Mapping[str, str]:
        """What pi sees of the environment."""
        ...

    @property
    def clock(self) -> Clock:
        """The time."""
        ...

    def http(self) -> HttpClient:
        """The network, as the settings say."""
        ...


class SessionTalk(Protocol):
    """The conversation: what was said, and what is added without asking anybody."""

    @property
    def log(self) -> SessionLog:
        """Its entries."""
        ...

    @property
    def pending(self) -> Sequence[Any]:
        """Messages that wait to be delivered."""
        ...

    @property
    def partial_answer(self) -> Any:
        """The answer that is being streamed, as far as it has come."""
        ...

    def messages(self) -> Sequence[SessionMessage]:
        """What the model is shown."""
        ...

    def convert(self, messages: Sequence[SessionMessage]) -> Sequence[Message]:
        """Messages of a session, as models understand them."""
        ...

    async def add(self, entry: KnownEntry) -> KnownEntry:
        """Append an entry."""
        ...

    async def say(self, message: CustomMessage) -> None:
        """Put a message into the conversation of a session at rest."""
        ...

    async def rename(self, name: str) -> None:
        """Call the session something else."""
        ...

    async def label(self, id: str, label: str | None) -> None:
        """Put a label on an entry."""
        ...


class SessionRuns(Protocol):
    """Runs of the agent: begun, joined and ended. Nothing here waits for one."""

    @property
    def idle(self) -> bool:
        """Whether no run is under way."""
        ...

    @property
    def message_token(self) -> MessageToken | None:
        """Stands for the answer that is being streamed."""
        ...

    def scope(self, outer: Scope) -> Scope:
        """What an extension starts for the run that is under way, and no longer."""
        ...

    def begin(self, message: CustomMessage) -> None:
        """Begin a run with a message."""
        ...

    def prompt(self, text: str, images: Sequence[Image], *, expand: bool, meta: Json) -> None:
        """Begin a run as if the person had said it; ``meta`` is kept beside it."""
        ...

    async def queue(self, message: Any, *, follow_up: bool) -> None:
        """Have a message delivered in the run that is under way."""
        ...

    def next_request(self) -> Request:
        """What the model would be asked now; nothing is sent."""
        ...

    def interrupt(self, token: MessageToken, cut: Interrupt) -> bool:
        """Cut an answer, and ask again; False if it is too late."""
        ...

    def abort(self) -> None:
        """Ask the run to end."""
        ...

    async def compact(self, instructions: str) -> Any:
        """Make the conversation shorter."""
        ...

    def refresh_policies(self) -> None:
        """Have the next run ask whoever is there now."""
        ...


class SessionModels(Protocol):
    """Who answers."""

    @property
    def registry(self) -> ModelRegistry:
        """The models that there are."""
        ...

    @property
    def current(self) -> Model | None:
        """Who answers."""
        ...

    @property
    def thinking_level(self) -> ThinkingLevel:
        """How much it thinks."""
        ...

    @property
    def scoped(self) -> Sequence[Model]:
        """The models to cycle through; empty means all."""
        ...

    async def use(self, model: Model) -> bool:
        """Have another model answer; whether it can."""
        ...

    async def think(self, level: ThinkingLevel) -> None:
        """Have the model think that much."""
        ...

    def ask(self, model: Model, context: Context, options: StreamOptions) -> EventStream:
        """Ask a model beside the conversation."""
        ...


class SessionTools(Protocol):
    """The tools of a session."""

    def active(self) -> Sequence[str]:
        """Those that are on."""
        ...

    def all(self) -> Sequence[AgentTool]:
        """Every tool that could be on."""
        ...

    def choose(self, names: Sequence[str]) -> None:
        """Have exactly these on from the next request on."""
        ...

    def preview(self, call: ToolCall) -> FilePreview | None:
        """The file that a call would leave, as far as its arguments have come."""
        ...

    def refresh(self) -> None:
        """Have the next request declare what has changed."""
        ...


class SessionFacts(Protocol):
    """Questions about a session."""

    def state(self) -> Any:
        """What the session is at this moment."""
        ...

    def context_usage(self) -> ContextUsage | None:
        """How full the window is."""
        ...

    def stats(self) -> SessionStats:
        """The session in numbers: tokens and money so far."""
        ...

    def since_session_ms(self) -> int:
        """How long the session has been going on."""
        ...

    def system_prompt(self) -> str:
        """The prompt, as it would be now."""
        ...

    def prompt_options(self) -> SystemPromptOptions:
        """What the prompt is made of."""
        ...

    def commands(self) -> Sequence[Any]:
        """What can be typed behind a slash."""
        ...


class SessionEvents(Protocol):
    """What a session tells everybody."""

    def subscribe(self, listener: Callable[[Any], None]) -> Callable[[], None]:
        """Have ``listener`` called with every public event; gives what ends that."""
        ...

    def on_moved(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Have ``listener`` called when the leaf or what was chosen changes without an event."""
        ...

    async def tell(self, event: Any) -> None:
        """Tell a public event."""
        ...

    def tell_soon(self, event: Any) -> None:
        """Tell a public event, after what is being told."""
        ...

"""The session as extensions reach it; ``runtime`` implements these."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from pi.agent.tool import AgentTool
from pi.ai.auth.storage import AuthStorage
from pi.ai.messages import Context, Image, Message, Text
from pi.ai.models.model import Model, ThinkingLevel
from pi.ai.request import StreamOptions
from pi.ai.stream import EventStream
from pi.base.clock import Clock
from pi.base.records import Record
from pi.coding.blobs.artifacts import Artifacts
from pi.coding.extension_host.prompt_options import SystemPromptOptions
from pi.coding.extension_host.sub_sessions import NestedSession, SubSession
from pi.coding.files.local import LocalFiles
from pi.coding.models.registry import ModelRegistry
from pi.coding.session.entries import KnownEntry
from pi.coding.session.log import SessionLog
from pi.coding.session.messages import CustomMessage, SessionMessage
from pi.coding.settings.settings import Settings

if TYPE_CHECKING:  # importing it would load the HTTP client before any request is made
    from pi.ai.http.client import HttpClient

DeliverAs: TypeAlias = Literal["steer", "follow_up", "next_turn"]
Content: TypeAlias = str | Sequence[Text | Image]


class Cancelled(Record):
    """Whether somebody has prevented what was wanted."""

    cancelled: bool


class SessionView(Protocol):
    """What there is to know of a session."""

    @property
    def cwd(self) -> Path:
        """The directory that it works in."""
        ...

    @property
    def log(self) -> SessionLog:
        """Its entries."""
        ...

    @property
    def registry(self) -> ModelRegistry:
        """The models that there are."""
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

    @property
    def trusted(self) -> bool:
        """Whether the project is trusted."""
        ...

    @property
    def model(self) -> Model | None:
        """Who answers."""
        ...

    @property
    def thinking_level(self) -> ThinkingLevel:
        """How much it thinks."""
        ...

    @property
    def scoped_models(self) -> Sequence[Model]:
        """The models to cycle through; empty means all."""
        ...

    @property
    def idle(self) -> bool:
        """Whether no run is under way."""
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

    def context_usage(self) -> Any:
        """How full the window is."""
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


class SessionActs(Protocol):
    """What can be done in a session, also while it runs. Nothing here waits for a run."""

    def ask(self, model: Model, context: Context, options: StreamOptions) -> EventStream:
        """Ask a model beside the conversation."""
        ...

    def http(self) -> HttpClient:
        """The network, as the settings say."""
        ...

    def subscribe(self, listener: Callable[[Any], None]) -> Callable[[], None]:
        """Have ``listener`` called with every public event; gives what ends that."""
        ...

    async def tell(self, event: Any) -> None:
        """Tell a public event."""
        ...

    def tell_soon(self, event: Any) -> None:
        """Tell a public event, after what is being told."""
        ...

    async def add(self, entry: KnownEntry) -> KnownEntry:
        """Append an entry."""
        ...

    async def say(self, message: CustomMessage) -> None:
        """Put a message into the conversation of a session at rest."""
        ...

    def begin(self, message: CustomMessage) -> None:
        """Begin a run with a message."""
        ...

    async def queue(self, message: Any, *, follow_up: bool) -> None:
        """Have a message delivered in the run that is under way."""
        ...

    def prompt(self, text: str, images: Sequence[Image], *, expand: bool) -> None:
        """Begin a run as if the person had said it."""
        ...

    async def rename(self, name: str) -> None:
        """Call the session something else."""
        ...

    async def label(self, id: str, label: str | None) -> None:
        """Put a label on an entry."""
        ...

    def active_tools(self) -> Sequence[str]:
        """The tools that are on."""
        ...

    def all_tools(self) -> Sequence[AgentTool]:
        """Every tool that could be on."""
        ...

    def set_active_tools(self, names: Sequence[str]) -> None:
        """Have exactly these on from the next request on."""
        ...

    def refresh_tools(self) -> None:
        """Have the next request declare what has changed."""
        ...

    def refresh_policies(self) -> None:
        """Have the next run ask whoever is there now."""
        ...

    async def use_model(self, model: Model) -> bool:
        """Have another model answer; whether it can."""
        ...

    async def think(self, level: ThinkingLevel) -> None:
        """Have the model think that much."""
        ...

    def abort(self) -> None:
        """Ask the run to end."""
        ...

    async def compact(self, instructions: str) -> Any:
        """Make the conversation shorter."""
        ...

    def shutdown(self) -> None:
        """Ask the program to end."""
        ...

    async def open_nested(self, spec: SubSession) -> NestedSession:
        """A session that works for this one."""
        ...


class SessionControl(Protocol):
    """Another session in the place of this one, or another place in it; only at rest."""

    async def wait_for_idle(self) -> None:
        """Until nothing is under way."""
        ...

    async def new_session(
        self, *, parent_session: str | None = None, setup: Setup | None = None
    ) -> Cancelled:
        """Begin a new session; ``setup`` is given it before anybody is told."""
        ...

    async def fork(self, entry_id: str, *, position: Literal["before", "at"] = "before") -> Any:
        """Go on in a copy of what led to an entry."""
        ...

    async def switch_session(self, path: Path | str) -> Cancelled:
        """Go on with the session of a file."""
        ...

    async def navigate_tree(
        self,
        entry_id: str,
        *,
        summarize: bool = False,
        custom_instructions: str = "",
        replace_instructions: bool = False,
        label: str = "",
    ) -> Any:
        """Go on after another entry of this session."""
        ...

    async def reload(self) -> None:
        """Read settings, resources and extensions again."""
        ...

    def when_idle(self, act: Callable[[], Awaitable[None]]) -> None:
        """Have ``act`` carried out at the next rest."""
        ...


Setup: TypeAlias = Callable[[SessionLog], Awaitable[None] | None]


class HostedSession(SessionView, SessionActs, SessionControl, Protocol):
    """A session that extensions belong to."""

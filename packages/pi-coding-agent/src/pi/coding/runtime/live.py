"""State shared by the parts of a session.

``RemoteSession`` is the remote side of a replica. ``SessionToolSupport`` provides tools with the
variables for commands, artifacts and image limits of the session.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from pi.agent.agent import Agent
from pi.agent.events import EntryAppended, MessageEnd, MessageStart
from pi.ai.messages import Image
from pi.ai.models.model import ImageLimits as ModelLimits
from pi.ai.models.model import ImageResize, InputLimits
from pi.ai.plan_limits import PlanLimit
from pi.base.errors import PiError
from pi.coding.blobs.artifacts import Artifact, Artifacts, session_artifacts
from pi.coding.bus import EventBus
from pi.coding.extension_host.dormant import ExtensionContributions
from pi.coding.models.registry import ModelRegistry
from pi.coding.port.results import Streaming
from pi.coding.runtime.machine import CurrentVariables, Machine
from pi.coding.runtime.secrets import KnownSecrets
from pi.coding.runtime.tool_support import ToolSupport
from pi.coding.runtime.toolbox import Toolbox
from pi.coding.runtime.workspace import Workspace
from pi.coding.session.conversation import SessionConversation
from pi.coding.session.entries import KnownEntry, SessionMessage
from pi.coding.session.log import SessionLog
from pi.coding.settings.option_names import OptionNames

if TYPE_CHECKING:
    from pi.coding.port.remote import Remote
    from pi.coding.tools.images import ImageLimits


class RemoteSessionError(PiError):
    """The action is possible only where the session runs."""


class SessionEnded(PiError):
    """The session was closed for good; its file may belong to another session now."""

    def __init__(self) -> None:
        super().__init__(
            "The session has ended.", hint="Open it again from its file, or start a new one."
        )


class RemoteSession:
    """The remote side of a replica."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote
        self.busy = False
        """Whether a run is active in the remote process."""
        self.closed = False
        """Whether another session has replaced the replica."""

    def refuse(self, action: str) -> RemoteSessionError:
        """Return the error for an action that needs a local session."""
        reason = (
            "only the host of this session can"
            if "prompt" in self._remote.capabilities
            else "this session runs elsewhere and is view-only here"
        )
        return RemoteSessionError(
            f"Cannot {action}: {reason}.",
            hint="Start or resume a session of your own with /new or /resume.",
        )

    async def prompt(
        self, text: str, images: Sequence[Image], *, streaming: Streaming | None
    ) -> None:
        """Send a prompt to the remote session."""
        if "prompt" not in self._remote.capabilities:
            raise self.refuse("send a prompt")
        await self._remote.prompt(text, images, streaming=streaming)

    async def abort(self) -> None:
        """Abort the remote run, if the remote side supports it."""
        if "abort" in self._remote.capabilities:
            await self._remote.abort()


class LiveSession:
    """One session. Opening another one replaces ``workspace``, ``conversation`` and ``log``.

    These are attributes, not properties, for speed: most calls in a session begin with one.
    """

    workspace: Workspace
    """The current workspace; change it with ``use_workspace``."""
    conversation: SessionConversation
    """The current conversation; change it with ``replace_conversation``."""
    log: SessionLog
    """The log of the conversation."""

    def __init__(
        self,
        *,
        machine: Machine,
        bus: EventBus,
        agent: Agent,
        registry: ModelRegistry,
        workspace: Workspace,
        conversation: SessionConversation,
        toolbox: Toolbox,
        extensions: ExtensionContributions,
        names: OptionNames,
        has_model: bool = True,
        artifacts: Artifacts | None = None,
        variables: CurrentVariables | None = None,
    ) -> None:
        self.names = names
        self.machine = machine
        self.bus = bus
        self.agent = agent
        self.registry = registry
        self._unsubscribe: Callable[[], None] = lambda: None
        self._variables = variables
        self.toolbox = toolbox
        self.extensions = extensions
        self.began = machine.clock.monotonic()
        """Monotonic time at which this session was opened here; reset by a switch."""
        self.has_model = has_model
        """Whether a model is selected."""
        self.has_ended = False
        """Whether the session was closed."""
        self.plan_limits: dict[str, tuple[PlanLimit, ...]] = {}
        """The plan limits that each provider reported last."""
        self.remote: RemoteSession | None = None
        """The remote side, if this session is a replica."""
        self._parent_artifacts = artifacts
        """Artifacts of the parent session, if this one is nested."""
        self.use_workspace(workspace)
        self.replace_conversation(conversation)

    def use_workspace(self, workspace: Workspace) -> None:
        """Switch to another workspace and its settings."""
        self.ignore_settings()
        self.workspace = workspace
        if self._variables is not None:
            self._variables.current = workspace.environment.values
        self._unsubscribe = workspace.settings.on_change(self._apply_queue_modes)
        self._apply_queue_modes()

    def ignore_settings(self) -> None:
        """Unsubscribe from the settings, which may outlive this session."""
        self._unsubscribe()
        self._unsubscribe = lambda: None

    def _apply_queue_modes(self) -> None:
        # The agent has its own copies of these two, so that it can be used without settings.
        inbox, values = self.agent.inbox, self.workspace.settings.values
        inbox.steering_mode, inbox.follow_up_mode = values.steering_mode, values.follow_up_mode

    def replace_conversation(
        self, conversation: SessionConversation, *, artifacts: Artifacts | None = None
    ) -> None:
        """Switch to another conversation; ``artifacts`` are its own unless they are given."""
        self.conversation = conversation
        self.log = conversation.log
        own = artifacts or session_artifacts(self.log.file)
        self.artifacts = self._parent_artifacts or own
        """Long outputs of this session, by number."""

    def template_names(self) -> frozenset[str]:
        """Names of the user's templates and skills, which bundled commands must not use."""
        if self.remote is not None:
            return frozenset()
        resources = self.workspace.resources
        skills = (f"skill:{entry.skill.name}" for entry in resources.skills)
        return frozenset((*(template.name for template in resources.prompts), *skills))

    @property
    def busy(self) -> bool:
        """Whether a run is active, local or remote."""
        return self.remote.busy if self.remote else self.agent.is_running

    def has_background_work(self) -> bool:
        """Whether a command or a run is active; always true for a replica."""
        return bool(self.workspace.local.commands.running) or self.busy or self.remote is not None

    def require_open(self) -> None:
        """Raise ``SessionEnded`` once the session was closed."""
        if self.has_ended:
            raise SessionEnded

    def require_local(self, action: str) -> None:
        """Raise ``RemoteSessionError`` for a replica; ``action`` is a verb for the message.

        Raises ``SessionEnded`` once the session was closed.
        """
        self.require_open()
        if self.remote is not None:
            raise self.remote.refuse(action)

    def since_session_ms(self) -> int:
        """Milliseconds since this session was opened here."""
        return round((self.machine.clock.monotonic() - self.began) * 1000)

    async def append_message(self, message: SessionMessage) -> None:
        """Append a message to the conversation of an idle session, and emit it."""
        self.conversation.append(message)
        await self.agent.emit(MessageStart(message=message))
        await self.agent.emit(MessageEnd(message=message))

    def append_now(self, draft: KnownEntry) -> tuple[str, EntryAppended | None]:
        """Append an entry. Returns its id, and the event that the caller must emit, if any."""
        public = self.conversation.add(draft)
        id = self.log.leaf_id
        assert id is not None
        return id, None if public is None else EntryAppended(entry=public)

    async def add(self, draft: KnownEntry) -> str:
        """Append an entry, and emit it if its kind has an event. Returns its id."""
        id, event = self.append_now(draft)
        if event is not None:
            await self.agent.emit(event)
        return id

    async def append_entry(self, draft: KnownEntry) -> KnownEntry:
        """Append an entry like ``add``; returns it as stored."""
        return self.log.entry(await self.add(draft))  # type: ignore[return-value]


def image_limits(core: LiveSession) -> ImageLimits:
    """Return the image limits of the model, and whether the user allows resizing."""
    from pi.coding.tools.images import ImageLimits  # lazy: a start reads no image

    resize = core.workspace.settings.values.images.auto_resize
    match core.agent.model.input_limits:
        case InputLimits(images=ModelLimits(resize=ImageResize() as largest)):
            return ImageLimits(
                max_width=largest.max_width,
                max_height=largest.max_height,
                max_bytes=largest.max_bytes,
                resize=resize,
            )
        case _:
            return ImageLimits(resize=resize)


class SessionToolSupport(ToolSupport):
    """Provides tools with data of a session; ``core`` is set once the session exists."""

    def __init__(self, secrets: KnownSecrets, extensions: ExtensionContributions) -> None:
        super().__init__(secrets, extensions)
        self.core: LiveSession | None = None

    def variables(self) -> Mapping[str, str]:
        """Return the environment variables that describe the session to commands."""
        core = self.core
        if core is None:
            return {}
        variables = {
            "PI_SESSION_ID": core.log.header.id,
            "PI_PROVIDER": core.agent.model.provider,
            "PI_MODEL": core.agent.model.id,
            "PI_REASONING_LEVEL": core.agent.thinking_level,
        }
        if (file := core.log.file) is not None:
            variables["PI_SESSION_FILE"] = str(file)
        return variables

    def new_artifact(self) -> Artifact | None:
        """Create an artifact for a long output; ``None`` without a session."""
        return None if self.core is None else self.core.artifacts.allocate("bash")

    def image_limits(self) -> ImageLimits:
        """Return the image limits of the model."""
        return super().image_limits() if self.core is None else image_limits(self.core)

"""The state that the parts of a session share: who there is now. Parts never know each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from pi.agent.agent import Agent
from pi.agent.events import EntryAppended, MessageEnd, MessageStart
from pi.ai.messages import Image
from pi.ai.models.model import ImageLimits as ModelLimits
from pi.ai.models.model import ImageResize, InputLimits
from pi.base.errors import PiError
from pi.coding.blobs.artifacts import Artifacts, TextFolder, artifact_directory
from pi.coding.bus import Bus
from pi.coding.extension_host.dormant import ExtensionContributions
from pi.coding.models.registry import ModelRegistry, ResolvedModel
from pi.coding.port.results import Streaming
from pi.coding.runtime.machine import Machine
from pi.coding.runtime.toolbox import Toolbox
from pi.coding.runtime.workspace import Workspace
from pi.coding.session.conversation import SessionConversation
from pi.coding.session.entries import CustomMessage, KnownEntry, SessionMessage
from pi.coding.session.log import SessionLog
from pi.coding.tools.images import ImageLimits

if TYPE_CHECKING:
    from pi.coding.port.remote import Remote
    from pi.coding.shell.jobs import Job


# A session that runs elsewhere and is only shown here: what it is asked, and what is refused.


class RemoteSessionError(PiError):
    """Something that only whoever runs the session can do."""


class RemoteSession:
    """The other end of a replica."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote
        self.busy = False
        """Whether a run is under way there."""
        self.closed = False
        """Whether another session has taken its place here."""

    def refuse(self, what: str) -> RemoteSessionError:
        """Why something cannot be done here."""
        return RemoteSessionError(
            f"This session runs elsewhere and is only shown here: {what}.",
            hint="Begin or resume a session of your own with /new or /resume.",
        )

    async def prompt(
        self, text: str, images: Sequence[Image], *, streaming: Streaming | None
    ) -> None:
        """Have the other end answer what was said here."""
        if "prompt" not in self._remote.capabilities:
            raise self.refuse("nothing can be said")
        await self._remote.prompt(text, images, streaming=streaming)

    async def abort(self) -> None:
        """Have the other end stop, if it lets itself be stopped."""
        if "abort" in self._remote.capabilities:
            await self._remote.abort()


class LiveSession:
    """One session. ``workspace`` and ``conversation`` are replaced when another takes its place."""

    def __init__(
        self,
        *,
        host: Machine,
        bus: Bus,
        agent: Agent,
        registry: ModelRegistry,
        workspace: Workspace,
        conversation: SessionConversation,
        toolbox: Toolbox,
        extensions: ExtensionContributions,
        scope: tuple[ResolvedModel, ...] = (),
        has_model: bool = True,
        artifacts: Artifacts | None = None,
    ) -> None:
        self.host = host
        self.bus = bus
        self.agent = agent
        self.registry = registry
        self._unsubscribe: Callable[[], None] = lambda: None
        self.workspace = workspace
        self.toolbox = toolbox
        self.extensions = extensions
        self.began = host.clock.monotonic()
        """When this session began, by a clock that never jumps."""
        self.scope = scope
        """The models to cycle through; empty means all."""
        self.has_model = has_model
        """Whether somebody can be asked at all."""
        self.elsewhere: RemoteSession | None = None
        """Whoever runs the session, if it is only shown here."""
        self._lent_artifacts = artifacts
        """Of the session that this one works for."""
        self.converse_in(conversation)

    @property
    def workspace(self) -> Workspace:
        """Where the session works."""
        return self._workspace

    @workspace.setter
    def workspace(self, workspace: Workspace) -> None:
        self.ignore_settings()
        self._workspace = workspace
        self._unsubscribe = workspace.settings.on_change(self._apply_queue_modes)
        self._apply_queue_modes()

    def ignore_settings(self) -> None:
        """Unsubscribe from the settings, which may outlive this session."""
        self._unsubscribe()
        self._unsubscribe = lambda: None

    def _apply_queue_modes(self) -> None:
        # The agent keeps these two itself, so that it can be used without settings.
        inbox, values = self.agent.inbox, self._workspace.values
        inbox.steering_mode, inbox.follow_up_mode = values.steering_mode, values.follow_up_mode

    def converse_in(self, conversation: SessionConversation) -> None:
        """Have another session from now on."""
        self.conversation = conversation
        file = conversation.log.file
        folder = TextFolder(None if file is None else artifact_directory(file))
        self.artifacts = self._lent_artifacts or Artifacts(folder)
        """Long outputs of this session, by number."""

    @property
    def busy(self) -> bool:
        """Whether a run is under way, here or elsewhere."""
        return self.elsewhere.busy if self.elsewhere else self.agent.is_running

    def must_run_here(self, what: str) -> None:
        """For what cannot be done to a session that is only shown here; ``what`` says what."""
        if self.elsewhere is not None:
            raise self.elsewhere.refuse(what)

    @property
    def log(self) -> SessionLog:
        """The log of the session."""
        return self.conversation.log

    def since_session_ms(self) -> int:
        """How long this session has been going on."""
        return round((self.host.clock.monotonic() - self.began) * 1000)

    async def tell(self, event: Any) -> None:
        """Tell a public event, in order with what the agent tells."""
        await self.agent.emit(event)

    async def say(self, message: SessionMessage) -> None:
        """Put a message into the conversation of a session at rest, and tell it."""
        self.conversation.append(message)
        await self.tell(MessageStart(message=message))
        await self.tell(MessageEnd(message=message))

    async def add(self, draft: KnownEntry) -> str:
        """Append an entry, and tell it if it is of a kind that is told; gives its id."""
        public = self.conversation.add(draft)
        id = self.log.leaf_id
        assert id is not None
        if public is not None:
            await self.tell(EntryAppended(entry=public))
        return id

    async def kept(self, draft: KnownEntry) -> KnownEntry:
        """Append an entry as ``add`` does; gives it as it is kept."""
        return self.log.entry(await self.add(draft))  # type: ignore[return-value]


# A session's answers to the tools that work for it.


def session_variables(core: LiveSession) -> dict[str, str]:
    """What the bash tool tells its commands about the session."""
    variables = {
        "PI_SESSION_ID": core.log.header.id,
        "PI_PROVIDER": core.agent.model.provider,
        "PI_MODEL": core.agent.model.id,
        "PI_REASONING_LEVEL": core.agent.thinking_level,
    }
    if core.log.file is not None:
        variables["PI_SESSION_FILE"] = str(core.log.file)
    return variables


def image_limits(core: LiveSession) -> ImageLimits:
    """What the model takes, and whether the person wants pictures made to fit."""
    resize = core.workspace.values.images.auto_resize
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


# The end of a command that ran on, as the model is told of it.


KIND = "bash_job"
"""The custom type of these messages."""
HOW = {"completed": "has succeeded", "failed": "has failed", "cancelled": "was ended"}


async def report_job(core: LiveSession, job: Job) -> None:
    """Tell it in the run that is under way; at rest it waits in the conversation for the next."""

    message = CustomMessage(
        custom_type=KIND,
        content=_text(job),
        details={"jobId": job.id, "state": job.state},
        timestamp=core.host.clock.now_ms(),
    )
    await (core.agent.steer if core.agent.is_running else core.say)(message)


def _text(job: Job) -> str:
    from pi.coding.tools.bash import bash_result_text  # not at the top: loaded on first use

    said = bash_result_text(job.output.written())
    how = f"The job {job.id} {HOW[job.state]}: {job.command}"
    return f"{how}\n\n{said}" if said else how

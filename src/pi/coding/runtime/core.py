"""The state that the parts of a session share: who there is now. Parts never know each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pi.agent.agent import Agent
from pi.agent.events import EntryAppended, MessageEnd, MessageStart
from pi.coding.blobs.artifacts import Artifacts
from pi.coding.blobs.folder import TextFolder, artifact_directory
from pi.coding.bus import Bus
from pi.coding.models.patterns import Choice
from pi.coding.models.registry import ModelRegistry
from pi.coding.runtime.elsewhere import Elsewhere
from pi.coding.runtime.host import Host
from pi.coding.runtime.lending import Lender
from pi.coding.runtime.toolbox import Toolbox
from pi.coding.runtime.workspace import Workspace
from pi.coding.session.conversation import SessionConversation
from pi.coding.session.entries import KnownEntry
from pi.coding.session.log import SessionLog
from pi.coding.session.messages import SessionMessage


class Core:
    """One session. ``workspace`` and ``conversation`` are replaced when another takes its place."""

    def __init__(
        self,
        *,
        host: Host,
        bus: Bus,
        agent: Agent,
        registry: ModelRegistry,
        workspace: Workspace,
        conversation: SessionConversation,
        toolbox: Toolbox,
        extensions: Lender,
        scope: tuple[Choice, ...] = (),
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
        self.elsewhere: Elsewhere | None = None
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
        await self.agent.tell(event)

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

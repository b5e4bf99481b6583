"""What handlers, commands and shortcuts are given beside their event."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar, Unpack, cast

from pi.ai.messages import Json
from pi.ai.models.model import Model, ThinkingLevel
from pi.base.records import Record
from pi.base.tasks import awaited
from pi.coding.blobs.store import BlobStore
from pi.coding.extension_host.artifacts import ExtensionArtifacts
from pi.coding.extension_host.control import Cancelled, Setup, TreeOptions
from pi.coding.extension_host.extension_ui import OwnedUI
from pi.coding.extension_host.link import Link
from pi.coding.extension_host.model_registry import ExtensionModelRegistry
from pi.coding.extension_host.prompt_options import SystemPromptOptions
from pi.coding.extension_host.replicas import Remote, Replica
from pi.coding.extension_host.resources import ExtensionResources
from pi.coding.extension_host.run_context import RunContext
from pi.coding.extension_host.sending import MessageOptions, Sending, UserMessageOptions
from pi.coding.extension_host.session_parts import Content
from pi.coding.extension_host.session_reader import SessionReader
from pi.coding.extension_host.ui import ExtensionUI, Mode
from pi.coding.files.local import LocalFiles
from pi.coding.session.messages import CustomMessage
from pi.coding.session.numbers import ContextUsage, SessionStats


class _Done(Protocol):
    @property
    def cancelled(self) -> bool: ...


D = TypeVar("D", bound=_Done)


class ContextParts(Record, eq=False):
    """What the contexts of one extension hand over to."""

    link: Link
    ui: OwnedUI
    mode: Callable[[], Mode]
    model_registry: ExtensionModelRegistry
    resources: ExtensionResources


class ExtensionContext(RunContext):
    """The session, for one extension. The same object from the first event to the last.

    Every member hands over to a part of the session; once that is over, each raises
    ``StaleSession``.
    """

    def __init__(self, parts: ContextParts) -> None:
        super().__init__(parts.link)
        self._ui = parts.ui
        self._mode = parts.mode
        self._model_registry = parts.model_registry
        self.resources = parts.resources
        """Rules and whatever else is found in many places."""
        self.session_manager = SessionReader(parts.link)

    @property
    def ui(self) -> ExtensionUI:
        """The person and the screen; where there is none, nothing happens."""
        return cast("ExtensionUI", self._ui)

    @property
    def mode(self) -> Mode:
        """How pi runs."""
        return self._mode()

    @property
    def has_ui(self) -> bool:
        """Whether anybody can be asked."""
        return self.ui.has_ui

    @property
    def cwd(self) -> Path:
        """The directory that the session works in."""
        return self._link.cwd

    @property
    def files(self) -> LocalFiles:
        """The door to files that tools use."""
        return self._link.session.place.files

    @property
    def artifacts(self) -> ExtensionArtifacts:
        """Where long outputs are kept."""
        return ExtensionArtifacts(self._link.session.place.artifacts)

    @property
    def blobs(self) -> BlobStore:
        """Bytes by the hash of what they are: ``put`` and ``get``; shared by all sessions."""
        return self._link.session.place.blobs

    @property
    def model_registry(self) -> ExtensionModelRegistry:
        """The models that there are, and asking them beside the conversation."""
        return self._model_registry

    @property
    def model(self) -> Model | None:
        """Who answers."""
        return self._link.session.models.current

    @property
    def scoped_models(self) -> Sequence[Model]:
        """The models to cycle through."""
        return self._link.session.models.scoped

    @property
    def thinking_level(self) -> ThinkingLevel:
        """How much the model thinks."""
        return self._link.session.models.thinking_level

    def is_project_trusted(self) -> bool:
        """Whether the project is trusted, or has nothing now that would need trust."""
        return self._link.session.place.trusted

    def get_context_usage(self) -> ContextUsage | None:
        """How full the model's window is; ``None`` without a model."""
        return self._link.session.facts.context_usage()

    def get_session_stats(self) -> SessionStats:
        """Messages, tokens and money of the session so far; counted anew at every call."""
        return self._link.session.facts.stats()

    def since_session_ms(self) -> int:
        """Milliseconds since the session began, by a clock that never jumps."""
        return self._link.session.facts.since_session_ms()


class CommandContext(ExtensionContext):
    """What commands and shortcuts are given: the session may also be replaced.

    After that this context is stale; ``with_session`` is given the one of the new session.
    """

    def __init__(
        self,
        parts: ContextParts,
        sending: Sending,
        renewed: Callable[[], CommandContext | None],
    ) -> None:
        super().__init__(parts)
        self._sending = sending
        self._renewed = renewed

    async def send_message(
        self, message: CustomMessage | Mapping[str, Any], **how: Unpack[MessageOptions]
    ) -> None:
        """``pi.send_message`` of the session that this context is for."""
        await self._sending.send_message(message, **how)

    async def send_user_message(self, content: Content, **how: Unpack[UserMessageOptions]) -> None:
        """``pi.send_user_message`` of the session that this context is for."""
        await self._sending.send_user_message(content, **how)

    def get_system_prompt_options(self) -> SystemPromptOptions:
        """What the system prompt is made of."""
        return self._link.session.facts.prompt_options()

    async def wait_for_idle(self) -> None:
        """Until nothing is under way."""
        await self._link.session.control.wait_for_idle()

    async def new_session(
        self,
        *,
        parent_session: str | None = None,
        setup: Setup | None = None,
        with_session: WithSession | None = None,
    ) -> Cancelled:
        """Begin a new session in the place of this one."""
        done = await self._link.session.control.new_session(
            parent_session=parent_session, setup=setup
        )
        return await self._then(done, with_session)

    async def fork(
        self,
        entry_id: str,
        *,
        position: Literal["before", "at"] = "before",
        with_session: WithSession | None = None,
    ) -> Any:
        """Go on in a copy of what led to an entry."""
        done = await self._link.session.control.fork(entry_id, position=position)
        return await self._then(done, with_session)

    async def switch_session(
        self, path: Path | str, *, with_session: WithSession | None = None
    ) -> Cancelled:
        """Go on with the session of a file."""
        done = await self._link.session.control.switch_session(path)
        return await self._then(done, with_session)

    async def open_replica(self, header: Json, remote: Remote) -> Replica | None:
        """Show a session that runs elsewhere in the place of this one; ``None`` if prevented."""
        return await self._link.session.control.open_replica(header, remote)

    async def navigate_tree(self, entry_id: str, **how: Unpack[TreeOptions]) -> Any:
        """Go on after another entry of this session; ``summarize`` what is left, if wanted."""
        return await self._link.session.control.navigate_tree(entry_id, **how)

    async def reload(self) -> None:
        """Read settings, resources and extensions again; this context is stale afterwards."""
        await self._link.session.control.reload()

    async def _then(self, done: D, with_session: WithSession | None) -> D:
        if with_session is not None and not done.cancelled:
            context = self._renewed()
            if context is not None:
                await awaited(with_session(context))
        return done


WithSession = Callable[[CommandContext], Awaitable[None] | None]

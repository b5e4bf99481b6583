"""What handlers, commands and shortcuts are given beside their event."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar, Unpack, cast

from pi.agent.policy import Interrupt, Request
from pi.agent.response import MessageToken
from pi.agent.tools.tool import FilePreview
from pi.ai.messages import Json, ToolCall
from pi.ai.models.model import Model, ThinkingLevel
from pi.base.records import Record
from pi.base.tasks import maybe_await
from pi.coding.blobs.store import BlobStore
from pi.coding.extension_host.api.messages import MessageOptions, MessageSender, UserMessageOptions
from pi.coding.extension_host.api.readers import ExtensionModelRegistry, SessionReader
from pi.coding.extension_host.api.resources import ExtensionResources
from pi.coding.extension_host.api.storage import ExtensionArtifacts
from pi.coding.extension_host.control import Cancelled, Setup, TreeOptions
from pi.coding.extension_host.link import SessionLink
from pi.coding.extension_host.scope import Scope
from pi.coding.extension_host.session_parts import Content
from pi.coding.extension_host.ui_proxy import ExtensionUIProxy
from pi.coding.files.local import LocalFiles
from pi.coding.port.remote import Remote, Replica
from pi.coding.port.ui import ExtensionUI, Mode
from pi.coding.prompt import SystemPromptOptions
from pi.coding.session.entries import CustomMessage
from pi.coding.session.views import ContextUsage, SessionStats

# What a context tells of runs, and how it shapes them.


class RunContext:
    """The runs of a session, for one extension."""

    def __init__(self, link: SessionLink) -> None:
        self._link = link

    def is_idle(self) -> bool:
        """Whether no run is under way."""
        return self._link.session.runs.idle

    def has_pending_messages(self) -> bool:
        """Whether messages wait to be delivered."""
        return bool(self._link.session.talk.pending)

    @property
    def run_scope(self) -> Scope:
        """Tasks, timers and what is to be closed with the run; ``ExtensionError`` without one."""
        return self._link.run_scope

    def next_request(self) -> Request:
        """What the model would be asked now, before handlers change it; nothing is sent."""
        return self._link.session.runs.next_request()

    def preview(self, call: ToolCall) -> FilePreview | None:
        """The file as a call would leave it, also while its arguments are still coming."""
        return self._link.session.tools.preview(call)

    @property
    def message_token(self) -> MessageToken | None:
        """Stands for the answer that is being streamed; ``None`` between answers."""
        return self._link.session.runs.message_token

    def interrupt(self, message: MessageToken, cut: Interrupt) -> bool:
        """Cut an answer as if a policy had raised ``cut``; False if it is over, or cut already."""
        cut.by = cut.by or self._link.name
        return self._link.session.runs.interrupt(message, cut)

    def abort(self) -> None:
        """Ask the run to end; never raises in the caller."""
        self._link.session.runs.abort()

    def shutdown(self) -> None:
        """Ask the program to end, when the agent rests."""
        self._link.session.control.shutdown()

    def get_system_prompt(self) -> str:
        """The system prompt, as it would be now."""
        return self._link.session.facts.system_prompt()

    def compact(
        self,
        custom_instructions: str = "",
        *,
        on_complete: Callable[[Any], Any] | None = None,
        on_error: Callable[[Exception], Any] | None = None,
    ) -> None:
        """Make the conversation shorter as soon as the agent rests."""
        session = self._link.session

        async def act() -> None:
            try:
                result = await session.runs.compact(custom_instructions)
            except Exception as problem:
                if on_error is not None:
                    await maybe_await(on_error(problem))
            else:
                if on_complete is not None:
                    await maybe_await(on_complete(result))

        session.control.when_idle(act)


class _Done(Protocol):
    @property
    def cancelled(self) -> bool: ...


D = TypeVar("D", bound=_Done)


class ContextParts(Record, eq=False):
    """What the contexts of one extension hand over to."""

    link: SessionLink
    ui: ExtensionUIProxy
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
        sending: MessageSender,
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
                await maybe_await(with_session(context))
        return done


WithSession = Callable[[CommandContext], Awaitable[None] | None]

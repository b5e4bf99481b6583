"""Contexts passed to handlers, commands and shortcuts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar, Unpack, cast

from pi.agent.conversation import prompt_text
from pi.agent.policy import Interrupt, Request
from pi.agent.response import MessageToken
from pi.agent.tools.tool import FilePreview
from pi.ai.messages import Json, ToolCall
from pi.ai.models.model import Model, ThinkingLevel
from pi.base.tasks import maybe_await
from pi.coding.blobs.store import BlobStore
from pi.coding.extension_host.api.messages import (
    Content,
    MessageOptions,
    MessageSender,
    UserMessageOptions,
)
from pi.coding.extension_host.api.readers import ExtensionModelRegistry, SessionReader
from pi.coding.extension_host.api.resources import ExtensionResources
from pi.coding.extension_host.api.storage import ExtensionArtifacts
from pi.coding.extension_host.control import Cancelled, SessionControl, Setup, TreeOptions
from pi.coding.extension_host.events.policy import options_from
from pi.coding.extension_host.scope import HostConnection, Scope, SessionLink
from pi.coding.extension_host.ui_proxy import ExtensionUIProxy
from pi.coding.files.local import LocalFiles
from pi.coding.port.remote import Remote, Replica
from pi.coding.port.ui import ExtensionUI, Mode
from pi.coding.prompt import SystemPromptOptions
from pi.coding.session.entries import CustomMessage
from pi.coding.session.views import ContextUsage, SessionStats


class _Done(Protocol):
    @property
    def cancelled(self) -> bool: ...


D = TypeVar("D", bound=_Done)


class ExtensionContext:
    """The session, for one extension. The same object from the first event to the last.

    Every member calls a part of the session; once that is closed, each raises ``StaleSession``.
    """

    def __init__(
        self,
        link: SessionLink,
        connection: HostConnection,
        *,
        ui: ExtensionUIProxy,
        model_registry: ExtensionModelRegistry,
        resources: ExtensionResources,
    ) -> None:
        self._link = link
        self._connection = connection
        self._ui = ui
        self._model_registry = model_registry
        self.resources = resources
        """Rules and other kinds of resources, merged from all sources."""
        self.session_manager = SessionReader(link)

    @property
    def ui(self) -> ExtensionUI:
        """The user interface; without one, its methods do nothing."""
        return cast("ExtensionUI", self._ui)

    @property
    def mode(self) -> Mode:
        """The mode that pi runs in."""
        return self._connection.mode

    @property
    def has_ui(self) -> bool:
        """Whether a user can answer dialogs."""
        return self.ui.has_ui

    @property
    def cwd(self) -> Path:
        """The working directory of the session."""
        return self._link.cwd

    @property
    def environ(self) -> Mapping[str, str]:
        """The environment variables of pi."""
        return self._link.session.workspace.environ

    @property
    def selected_tools(self) -> frozenset[str]:
        """The tools that ``--tools`` or ``defaultTools`` names, whether they exist or not."""
        return self._link.session.tools.selected_names

    @property
    def files(self) -> LocalFiles:
        """File access as tools use it."""
        return self._link.session.workspace.files

    @property
    def artifacts(self) -> ExtensionArtifacts:
        """Stored long outputs."""
        return ExtensionArtifacts(self._link.session.artifacts)

    @property
    def blobs(self) -> BlobStore:
        """Content-addressed bytes, shared by all sessions: ``put`` and ``get``."""
        return self._link.session.workspace.blobs

    @property
    def model_registry(self) -> ExtensionModelRegistry:
        """The known models, and requests to them outside the conversation."""
        return self._model_registry

    @property
    def model(self) -> Model | None:
        """The current model."""
        return self._link.session.models.current

    @property
    def scoped_models(self) -> Sequence[Model]:
        """The models to cycle through."""
        return tuple(choice.model for choice in self._link.session.models.scope)

    @property
    def thinking_level(self) -> ThinkingLevel:
        """The current thinking level."""
        return self._link.session.models.thinking_level

    def is_project_trusted(self) -> bool:
        """Whether the project is trusted, or has no files that need trust."""
        return self._link.session.workspace.is_trusted

    def get_context_usage(self) -> ContextUsage | None:
        """How full the context window is; ``None`` without a model."""
        return self._link.session.facts.context_usage()

    def get_session_stats(self) -> SessionStats:
        """Messages, tokens and cost of the session so far; computed at every call."""
        return self._link.session.facts.stats()

    def since_session_ms(self) -> int:
        """Milliseconds since the session began, by a monotonic clock."""
        return self._link.session.since_session_ms()

    # Runs -----------------------------------------------------------------------------------------

    def is_idle(self) -> bool:
        """Whether no run is in progress."""
        return self._link.session.runs.idle

    def has_pending_messages(self) -> bool:
        """Whether queued messages wait for delivery."""
        return bool(self._link.session.prompts.pending)

    @property
    def run_scope(self) -> Scope:
        """Tasks, timers and resources that are closed with the run.

        Raises ``ExtensionError`` without a run.
        """
        return self._link.run_scope

    def next_request(self) -> Request:
        """The next model request as it is now, before handlers change it; nothing is sent."""
        return self._link.session.prompts.next_request()

    def preview(self, call: ToolCall) -> FilePreview | None:
        """The text that a call adds to a file, also while its arguments are still streaming."""
        return self._link.session.tools.preview(call)

    @property
    def message_token(self) -> MessageToken | None:
        """Identifies the answer that is being streamed; ``None`` between answers."""
        return self._link.session.runs.open_answer.token

    def interrupt(self, message: MessageToken, cut: Interrupt) -> bool:
        """Interrupt an answer as if a policy had raised ``cut``.

        Returns False if the answer has ended or is already interrupted.
        """
        cut.by = cut.by or self._link.scope.name
        return self._link.session.runs.open_answer.interrupt(message, cut)

    def abort(self) -> None:
        """Request the end of the run; never raises in the caller."""
        self._link.session.runs.abort()

    def shutdown(self) -> None:
        """Request the end of the program once the agent is idle."""
        SessionControl(self._link.session).shutdown()

    def get_system_prompt(self) -> str:
        """The current system prompt."""
        return prompt_text(self._link.session.prompts.sections())

    def compact(
        self,
        custom_instructions: str = "",
        *,
        on_complete: Callable[[Any], Any] | None = None,
        on_error: Callable[[Exception], Any] | None = None,
    ) -> None:
        """Compact the conversation as soon as the agent is idle."""
        session = self._link.session

        async def act() -> None:
            try:
                result = await session.compaction.compact(custom_instructions)
            except Exception as error:
                if on_error is not None:
                    await maybe_await(on_error(error))
            else:
                if on_complete is not None:
                    await maybe_await(on_complete(result))

        session.runs.when_idle.add(act)


class CommandContext(ExtensionContext):
    """Context of commands and shortcuts: it can also replace the session.

    After that this context is stale; ``with_session`` gets the context of the new session.
    """

    def __init__(
        self,
        link: SessionLink,
        connection: HostConnection,
        *,
        ui: ExtensionUIProxy,
        model_registry: ExtensionModelRegistry,
        resources: ExtensionResources,
        sender: MessageSender,
        renewed: Callable[[], CommandContext | None],
    ) -> None:
        super().__init__(
            link, connection, ui=ui, model_registry=model_registry, resources=resources
        )
        self._sender = sender
        self._renewed = renewed
        """Returns the context of this extension in the session that replaced this one."""

    async def send_message(
        self, message: CustomMessage | Mapping[str, Any], **how: Unpack[MessageOptions]
    ) -> None:
        """``pi.send_message`` in the session of this context."""
        await self._sender.send_message(message, **how)

    async def send_user_message(self, content: Content, **how: Unpack[UserMessageOptions]) -> None:
        """``pi.send_user_message`` in the session of this context."""
        await self._sender.send_user_message(content, **how)

    def get_system_prompt_options(self) -> SystemPromptOptions:
        """The parts of the system prompt."""
        return options_from(self._link.session.prompts.parts())

    async def wait_for_idle(self) -> None:
        """Wait until no run is in progress."""
        await self._link.session.wait_for_idle()

    async def new_session(
        self,
        *,
        parent_session: str | None = None,
        setup: Setup | None = None,
        with_session: WithSession | None = None,
    ) -> Cancelled:
        """Replace this session with a new one."""
        done = await self._control.new_session(parent_session=parent_session, setup=setup)
        return await self._then(done, with_session)

    async def fork(
        self,
        entry_id: str,
        *,
        position: Literal["before", "at"] = "before",
        with_session: WithSession | None = None,
    ) -> Any:
        """Continue in a copy of the branch up to an entry."""
        done = await self._control.fork(entry_id, position=position)
        return await self._then(done, with_session)

    async def switch_session(
        self, path: Path | str, *, with_session: WithSession | None = None
    ) -> Cancelled:
        """Continue the session of a file."""
        done = await self._control.switch_session(path)
        return await self._then(done, with_session)

    async def open_replica(self, header: Json, remote: Remote) -> Replica | None:
        """Replace this session with a remote one; ``None`` if an extension cancelled it."""
        return await self._control.open_replica(header, remote)

    async def navigate_tree(self, entry_id: str, **how: Unpack[TreeOptions]) -> Any:
        """Continue after another entry; ``summarize`` adds a summary of the branch that is left."""
        return await self._control.navigate_tree(entry_id, **how)

    async def reload(self) -> None:
        """Reload settings, resources and extensions; this context is stale afterwards."""
        await self._link.session.sessions.reload()

    @property
    def _control(self) -> SessionControl:
        return SessionControl(self._link.session)

    async def _then(self, done: D, with_session: WithSession | None) -> D:
        if with_session is not None and not done.cancelled:
            context = self._renewed()
            if context is not None:
                await maybe_await(with_session(context))
        return done


WithSession = Callable[[CommandContext], Awaitable[None] | None]

"""Contexts passed to handlers, commands and shortcuts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NoReturn, Protocol, TypeVar, Unpack, cast, get_args

from pi.agent.conversation import prompt_text
from pi.agent.policy import Interrupt, Request
from pi.agent.response import MessageToken
from pi.agent.tools.approval import ToolApproval
from pi.agent.tools.effects import CallEffects
from pi.agent.tools.tool import FilePreview
from pi.ai.messages import Json, ToolCall
from pi.ai.models.model import Model
from pi.ai.models.thinking_levels import ThinkingLevel
from pi.base.tasks import maybe_await
from pi.coding.blobs.store import BlobStore
from pi.coding.extension_host.api.consent import ExtensionConsent
from pi.coding.extension_host.api.messages import (
    Content,
    MessageOptions,
    MessageSender,
    UserMessageOptions,
)
from pi.coding.extension_host.api.processes import ExtensionJobs
from pi.coding.extension_host.api.readers import ExtensionModelRegistry, SessionReader
from pi.coding.extension_host.api.resources import ExtensionResources
from pi.coding.extension_host.api.storage import ExtensionArtifacts
from pi.coding.extension_host.control import Cancelled, SessionControl, Setup, TreeOptions
from pi.coding.extension_host.errors import CommandExit, check_value
from pi.coding.extension_host.events.policy import options_from
from pi.coding.extension_host.scope import HostConnection, Scope, SessionLink
from pi.coding.extension_host.ui_proxy import ExtensionUIProxy
from pi.coding.files.local import LocalFiles
from pi.coding.port.extensions import Sink
from pi.coding.port.queries import ExportForm
from pi.coding.port.remote import Remote, Replica
from pi.coding.port.results import TaskOptions
from pi.coding.port.ui import ExtensionUI, Mode
from pi.coding.prompt import SystemPromptOptions
from pi.coding.session.entries import CustomMessage
from pi.coding.session.statistics import ContextUsage, SessionStats
from pi.coding.shell.local import ShellSetup


class _Done(Protocol):
    @property
    def cancelled(self) -> bool: ...


D = TypeVar("D", bound=_Done)


class ExtensionContext:
    """The session, for one extension. All handlers of the session get the same object.

    Members that need the session raise ``StaleSession`` after it has ended.
    """

    def __init__(
        self,
        link: SessionLink,
        connection: HostConnection,
        *,
        ui: ExtensionUIProxy,
        model_registry: ExtensionModelRegistry,
        resources: ExtensionResources,
        consent: ExtensionConsent,
    ) -> None:
        self._link = link
        self._connection = connection
        self._ui = ui
        self._model_registry = model_registry
        self.resources = resources
        """Rules and other kinds of resources, merged from all sources."""
        self.consent = consent
        """Whether definitions of a project or of another agent may run."""
        self.session_manager = SessionReader(link)

    @property
    def ui(self) -> ExtensionUI:
        """The user interface; without one, its methods do nothing."""
        return cast("ExtensionUI", self._ui)

    @property
    def mode(self) -> Mode:
        """The mode in which pi runs."""
        return self._connection.mode

    @property
    def depth(self) -> int:
        """How many sessions this one is nested in: 0 for the session of the user."""
        return self._connection.depth

    @property
    def task(self) -> TaskOptions:
        """The task that this session works on for another one; empty for the user's session."""
        return self._connection.task

    @property
    def has_ui(self) -> bool:
        """Whether a user can answer dialogs."""
        return self.ui.has_ui

    @property
    def cwd(self) -> Path:
        """The working directory of the session."""
        return self._link.cwd

    @property
    def agent_dir(self) -> Path:
        """The folder of the user's settings and sessions, usually ``~/.pi/agent``."""
        return self._link.workspace.where.agent_dir

    @property
    def environ(self) -> Mapping[str, str]:
        """The environment variables of pi, including ``.env`` files; read-only."""
        return MappingProxyType(self._link.workspace.environ)

    @property
    def user_environ(self) -> Mapping[str, str]:
        """``environ`` without ``.env`` of the project, for values that decide who gets a token."""
        return MappingProxyType(self._link.workspace.user_environ)

    @property
    def command_environ(self) -> Mapping[str, str]:
        """The variables of the model's commands, without credentials; read-only."""
        return MappingProxyType(self._link.workspace.command_environment())

    @property
    def files(self) -> LocalFiles:
        """File access as tools use it."""
        return self._link.session.workspace.files

    @property
    def artifacts(self) -> ExtensionArtifacts:
        """Stored long outputs."""
        return ExtensionArtifacts(self._link.session.artifacts)

    @property
    def jobs(self) -> ExtensionJobs:
        """Background jobs: add, list, read, wait for and cancel them."""
        return ExtensionJobs(self._link)

    def shell_setup(self) -> ShellSetup:
        """Program, variables and prefix with which ``bash`` starts. Raises ``NoShell``."""
        return self._link.session.workspace.shell_setup()

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
        return self._link.session.info.context_usage()

    def get_session_stats(self) -> SessionStats:
        """Messages, tokens and cost of the session so far; computed at every call."""
        return self._link.session.info.stats()

    def since_session_ms(self) -> int:
        """Milliseconds since the session was opened here, by a monotonic clock."""
        return self._link.session.since_session_ms()

    async def export(self, form: ExportForm, sink: Sink = "export") -> bytes:
        """The session as ``html``, ``markdown``, ``text`` or ``jsonl``, redacted for a sink."""
        check_value("a sink", sink, get_args(Sink))
        return await self._link.session.exports.render(form, sink)

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

    def has_preview(self, tool: str) -> bool:
        """Whether ``preview`` supports calls of a tool."""
        return self._link.session.tools.has_preview(tool)

    def preview(self, call: ToolCall) -> FilePreview | None:
        """The text that a call adds to a file, even of incomplete arguments; or ``None``."""
        return self._link.session.tools.preview(call)

    def approval(self, call: ToolCall) -> ToolApproval:
        """What a call may do, as its tool declares it; for permission guards."""
        return self._link.session.tools.approval(call)

    def effects(self, call: ToolCall) -> CallEffects:
        """What a call reads, writes and contacts, after all decoding; for permission guards."""
        return self._link.session.tools.effects(call)

    @property
    def message_token(self) -> MessageToken | None:
        """Identify the answer that is being streamed; ``None`` between answers."""
        return self._link.session.runs.open_answer.token

    def interrupt(self, message: MessageToken, cut: Interrupt) -> bool:
        """Interrupt an answer as if a policy had raised ``cut``.

        Returns False if the answer has ended or is already interrupted.
        """
        cut.by = cut.by or self._link.scope.name
        return self._link.session.runs.open_answer.interrupt(message, cut)

    def abort(self, *, outermost: bool = False) -> None:
        """Request the end of the run and return at once.

        With ``outermost`` the run of the session of the user, in which this one may be nested.
        """
        session, connection = self._link.session, self._connection
        while outermost and connection.parent is not None:
            connection = connection.parent
            session = connection.session or session
        session.runs.abort()

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
        strategy: str = "",
        on_complete: Callable[[Any], Any] | None = None,
        on_error: Callable[[Exception], Any] | None = None,
    ) -> None:
        """Compact the conversation as soon as the agent is idle, with the named strategy."""
        session = self._link.session

        async def act() -> None:
            try:
                result = await session.compaction.compact(custom_instructions, strategy=strategy)
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
        consent: ExtensionConsent,
        sender: MessageSender,
        flags: Mapping[str, bool | str],
        renewed: Callable[[], CommandContext | None],
    ) -> None:
        super().__init__(
            link,
            connection,
            ui=ui,
            model_registry=model_registry,
            resources=resources,
            consent=consent,
        )
        self._sender = sender
        self.flags = flags
        """The values of ``pi <name> --option``, with the defaults of the manifest, by name."""
        self._renewed = renewed
        """Returns the context of this extension in the session that replaced this one."""

    async def send_message(
        self, message: CustomMessage | Mapping[str, Any], **options: Unpack[MessageOptions]
    ) -> None:
        """``pi.send_message`` in the session of this context."""
        await self._sender.send_message(message, **options)

    async def send_user_message(
        self, content: Content, **options: Unpack[UserMessageOptions]
    ) -> None:
        """``pi.send_user_message`` in the session of this context."""
        await self._sender.send_user_message(content, **options)

    def write(self, text: str) -> None:
        """Write to standard output in print mode, unchanged; on a screen, to the transcript."""
        self._link.require_open()
        self._connection.ui.write(text)

    def exit(self, code: int = 0) -> NoReturn:
        """End the command, and the program with this exit code. Raises ``CommandExit``."""
        raise CommandExit(code)

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
        return await self._call_with_session(done, with_session)

    async def fork(
        self,
        entry_id: str,
        *,
        position: Literal["before", "at"] = "before",
        with_session: WithSession | None = None,
    ) -> Any:
        """Continue in a new session with the branch up to an entry, or before it."""
        done = await self._control.fork(entry_id, position=position)
        return await self._call_with_session(done, with_session)

    async def switch_session(
        self, path: Path | str, *, with_session: WithSession | None = None
    ) -> Cancelled:
        """Continue the session of a file."""
        done = await self._control.switch_session(path)
        return await self._call_with_session(done, with_session)

    async def open_replica(
        self, header: Json, remote: Remote, *, file: Path | None = None
    ) -> Replica | None:
        """Replace this session with a remote one; ``None`` if an extension cancelled it.

        ``file`` stores the received entries with their remote ids; opening the same session again
        continues the file.
        """
        return await self._control.open_replica(header, remote, file=file)

    async def navigate_tree(self, entry_id: str, **options: Unpack[TreeOptions]) -> Any:
        """Continue after another entry; ``summarize`` adds a summary of the branch that is left."""
        return await self._control.navigate_tree(entry_id, **options)

    async def reload(self) -> None:
        """Reload settings, resources and extensions; this context is stale afterwards."""
        await self._link.session.sessions.reload()

    @property
    def _control(self) -> SessionControl:
        return SessionControl(self._link.session)

    async def _call_with_session(self, done: D, with_session: WithSession | None) -> D:
        if with_session is not None and not done.cancelled:
            context = self._renewed()
            if context is not None:
                await maybe_await(with_session(context))
        return done


WithSession = Callable[[CommandContext], Awaitable[None] | None]

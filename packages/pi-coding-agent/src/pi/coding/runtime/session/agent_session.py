"""``AgentSession``: a running session, as modes and embedding programs use it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, get_args
from weakref import WeakSet

from pi.agent.errors import AgentBusy
from pi.agent.events import Kinds, Listener
from pi.ai.factory import Network, make_services
from pi.ai.messages import AssistantMessage, Image, UserMessage
from pi.ai.models.model import Model
from pi.ai.models.thinking_levels import ThinkingLevel
from pi.coding.blobs.artifacts import Artifacts
from pi.coding.compaction.automatic import IdleCompaction
from pi.coding.extension_host.events.session import (
    ModelSelectEvent,
    SessionAbortEvent,
    SessionShutdownEvent,
    SessionStartEvent,
    SessionTreeEvent,
    ThinkingLevelSelectEvent,
)
from pi.coding.port.results import Forked, Replaced, SessionState, Streaming, SubSession
from pi.coding.retry import RetryPolicy
from pi.coding.runtime.bootstrap import Bootstrap
from pi.coding.runtime.extensions.calls import SessionExtensions
from pi.coding.runtime.live import LiveSession
from pi.coding.runtime.session.cache_warming import CacheWarming
from pi.coding.runtime.session.compaction import CompactionControl, Summaries
from pi.coding.runtime.session.events import EventFeed, events_during
from pi.coding.runtime.session.prompts import BUSY, PromptRunner
from pi.coding.runtime.session.runs import AgentRuns
from pi.coding.runtime.session.shell import UserShell
from pi.coding.runtime.workspace import Workspace
from pi.coding.session.entries import CustomMessage, SessionMessage
from pi.coding.settings.settings import Settings

if TYPE_CHECKING:  # deferred: most sessions never need these
    from pi.ai.http.client import HttpClient
    from pi.ai.wire_support.exchange import Services
    from pi.coding.compaction.events import CompactionResult
    from pi.coding.runtime.session.exports import Exports
    from pi.coding.runtime.session.info import SessionQueries
    from pi.coding.runtime.session.models import Accounts, ModelSelection
    from pi.coding.runtime.session.public_events import AgentSessionEvent
    from pi.coding.runtime.session.switching import SessionSwitcher
    from pi.coding.runtime.session.tree import TreeMoves


MOVES = (SessionTreeEvent, ModelSelectEvent, ThinkingLevelSelectEvent)
"""Events of the bus, not public, that may change the leaf or the state of a session."""


class AgentSession:
    """Implements ``SessionPort`` with its parts, and has shortcuts for embedding programs.

    The caller closes it, or uses ``async with``. ``models``, ``info``, ``sessions``, ``tree``,
    ``accounts`` and ``exports`` are created on first use: few sessions need all of them.
    """

    def __init__(
        self,
        core: LiveSession,
        bootstrap: Bootstrap,
        *,
        prompts: PromptRunner,
        runs: AgentRuns,
        shell: UserShell,
        compaction: CompactionControl,
        summaries: Summaries,
        extensions: SessionExtensions,
        retry: RetryPolicy,
        timers: Sequence[IdleCompaction | CacheWarming],
        open_nested: Callable[[SubSession], Awaitable[AgentSession]],
    ) -> None:
        self.prompts = prompts
        self.runs = runs
        self.tools = core.toolbox
        self.entries = core
        self.shell = shell
        self.compaction = compaction
        self.retry = retry
        self.extensions = extensions
        self._core = core
        self._bootstrap = bootstrap
        self._summaries = summaries
        self._timers = timers
        self._open_nested = open_nested
        self._services: Services | None = None
        self._feeds: WeakSet[EventFeed] = WeakSet()

    # Parts that are created on first use ----------------------------------------------------------

    @cached_property
    def models(self) -> ModelSelection:
        """The selected model and its thinking level."""
        from pi.coding.runtime.session.models import ModelSelection

        bootstrap = self._bootstrap
        return ModelSelection(
            self._core,
            bootstrap.model_client,
            bootstrap.start.scope,
            bootstrap.overrides.last_resort,
            start=self.runs.spawn,
        )

    @cached_property
    def info(self) -> SessionQueries:
        """Queries of the current state."""
        from pi.coding.runtime.session.info import SessionQueries

        return SessionQueries(self._core, self.compaction)

    @cached_property
    def sessions(self) -> SessionSwitcher:
        """Replace this session with another one."""
        from pi.coding.runtime.session.switching import SessionSwitcher

        return SessionSwitcher(self._core, self._bootstrap, self.prompts, stop_all=self._stop_all)

    @cached_property
    def tree(self) -> TreeMoves:
        """Move the leaf of the session."""
        from pi.coding.runtime.session.tree import TreeMoves

        return TreeMoves(
            self._core, self._summaries, self.prompts.move_gate, stop_all=self._stop_all
        )

    @cached_property
    def accounts(self) -> Accounts:
        """The user's credentials."""
        from pi.coding.runtime.session.models import Accounts

        return Accounts(self._core, self._bootstrap.storage, self._bootstrap.secrets)

    @cached_property
    def exports(self) -> Exports:
        """Exports of the session without the user's secrets."""
        from pi.coding.runtime.session.exports import Exports

        return Exports(self._core, self._bootstrap.secrets)

    @property
    def workspace(self) -> Workspace:
        """The current workspace; a reload or another session replaces it."""
        return self._core.workspace

    @property
    def artifacts(self) -> Artifacts:
        """Long outputs of the session, by number."""
        return self._core.artifacts

    @property
    def cwd(self) -> Path:
        """The working directory of the session."""
        return self._core.workspace.cwd

    @property
    def settings(self) -> Settings:
        """The merged settings of the session."""
        return self._core.workspace.settings

    def http(self) -> HttpClient:
        """The HTTP client, configured by the settings; closed with the session."""
        if self._services is None:
            workspace = self._core.workspace
            network = Network(proxy=workspace.settings.values.http_proxy)
            clock = self._core.machine.clock
            self._services = make_services(workspace.environ, clock, network)
        return self._services.http

    async def open_nested(self, spec: SubSession) -> AgentSession:
        """Open a nested session, guarded like this one; the caller closes it."""
        self._core.require_open()
        return await self._open_nested(spec)

    def since_session_ms(self) -> int:
        """Milliseconds since this session was opened here; reset by a switch."""
        return self._core.since_session_ms()

    # Events ---------------------------------------------------------------------------------------

    def subscribe(self, listener: Listener, *, kinds: Kinds | None = None) -> Callable[[], None]:
        """Subscribe to public events, all or those of ``kinds``, in order.

        Returns an unsubscribe function.
        """
        return self._core.agent.subscribe(listener, kinds=kinds)

    def on_moved(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Subscribe to changes of leaf, model or level that have no public event.

        Returns an unsubscribe function.
        """
        ends = [self._core.bus.subscribe(kind, lambda _: listener()) for kind in MOVES]

        def end() -> None:
            for unsubscribe in ends:
                unsubscribe()

        return end

    async def emit(self, event: Any) -> None:
        """Emit a public event, in order with those of the agent."""
        await self._core.agent.emit(event)

    def events(self) -> EventFeed:
        """Return an iterator over all events from now on, until the session is closed."""
        feed = EventFeed(self.subscribe)
        self._feeds.add(feed)
        if self._core.has_ended:
            feed.end()
        return feed

    # Start and end --------------------------------------------------------------------------------

    async def start(self) -> None:
        """Load extensions that were triggered since, and emit the start event."""
        await self._bootstrap.hosting.load_before_start()
        self._bootstrap.hosting.report_switched_off()
        await self._core.bus.emit(SessionStartEvent(reason="startup"))
        self._bootstrap.offer_agents_over_rpc()

    async def abort(self) -> None:
        """Abort all running work, and wait until it has ended."""
        if self._core.remote is not None:
            await self._core.remote.abort()
        was_idle = self.runs.idle
        await self._stop()
        # Emitted even without a run: extensions may have work in the background.
        await self._core.bus.emit(SessionAbortEvent(was_idle=was_idle))

    async def wait_for_idle(self) -> None:
        """Wait until nothing is running."""
        await self._core.agent.wait_for_idle()

    async def close(self) -> None:
        """Abort all running work, save the session and release its resources."""
        if self._core.has_ended:
            return
        self._core.has_ended = True
        await self._stop_all()
        await self._core.bus.emit(SessionShutdownEvent(reason="quit"))
        self._core.log.close()
        await self._core.workspace.close()
        self._core.ignore_settings()
        await self.runs.when_idle.close()
        await self._bootstrap.hosting.close()
        await self.runs.close()
        if self._services is not None:
            await self._services.close()
        for timer in self._timers:
            await timer.close()
        await self._bootstrap.model_client.close()
        for feed in self._feeds:
            feed.end()

    async def _stop(self) -> None:
        """Abort all local work except shell commands, and wait for the agent."""
        self.prompts.gate.abort_waiting()
        self.prompts.move_gate.abort_waiting()
        self._core.agent.abort()
        self.compaction.abort()
        if "tree" in vars(self):  # not created only to be aborted
            self.tree.abort()
        await self._core.agent.wait_for_idle()

    async def _stop_all(self) -> None:
        """Abort all local work including shell commands, and write their results to the log."""
        self.shell.stop()
        await self._stop()
        self.shell.flush()

    # Operations of embedding programs -------------------------------------------------------------

    async def prompt(
        self, text: str, images: Sequence[Image] = (), *, streaming: Streaming | None = None
    ) -> AssistantMessage | None:
        """Send a prompt and wait until the agent is idle again. Returns the last answer.

        A failed answer is returned as well: see its ``stop_reason``. During a run ``streaming``
        selects the queue. Returns ``None`` if the text was queued or produced no answer.
        """
        _check_queue("streaming", streaming)
        ended = await self.prompts.prompt(text, images, streaming=streaming)
        return None if ended is None else _last_answer(self.messages)

    def stream(
        self, text: str, images: Sequence[Image] = ()
    ) -> AsyncGenerator[AgentSessionEvent, None]:
        """Send a prompt and yield events until the agent is idle again.

        Closing the iterator aborts the run; use ``contextlib.aclosing`` to do it at once.
        """
        return events_during(lambda: self.prompt(text, images), self.events)

    async def steer(self, text: str, images: Sequence[Image] = ()) -> None:
        """Deliver a message after the tools of the current turn."""
        await self.prompts.steer(text, images)

    async def follow_up(self, text: str, images: Sequence[Image] = ()) -> None:
        """Deliver a message when the agent would stop."""
        await self.prompts.follow_up(text, images)

    async def send_user_message(
        self, text: str, images: Sequence[Image] = (), *, deliver_as: Streaming | None = None
    ) -> AssistantMessage | None:
        """Like ``prompt``, but without commands, skills and templates."""
        _check_queue("deliver_as", deliver_as)
        if self._core.agent.is_running and deliver_as is None:
            raise AgentBusy(BUSY.format(streaming="deliver_as="))
        ended = await self.prompts.prompt(
            text, images, streaming=deliver_as, source="extension", expand=False
        )
        return None if ended is None else _last_answer(self.messages)

    async def send_custom_message(
        self,
        message: CustomMessage | Mapping[str, Any],
        *,
        deliver_as: Streaming = "steer",
        trigger_turn: bool = False,
    ) -> None:
        """Send a message to the model that is not a user message; it is stored in the session.

        A dict has the fields of ``CustomMessage``.
        During a run ``deliver_as`` selects the queue. In an idle session the message is sent with
        the next prompt, or at once with ``trigger_turn``; then the call waits until the agent is
        idle again.
        """
        core, agent = self._core, self._core.agent
        core.require_open()
        _check_queue("deliver_as", deliver_as)
        # Lazy: imports the shell, and few sessions get messages of programs.
        from pi.coding.extension_host.events.answers import as_custom_message

        custom = as_custom_message(message, now_ms=core.machine.clock.now_ms())
        if core.busy:
            await (agent.steer if deliver_as == "steer" else agent.follow_up)(custom)
        elif trigger_turn:
            await self.prompts.prepare()
            await agent.prompt((custom,))
        else:
            await core.append_message(custom)

    @property
    def state(self) -> SessionState:
        """The current state."""
        return self.info.state()

    @property
    def messages(self) -> Sequence[SessionMessage]:
        """The messages of the model's context, including system messages."""
        return self.info.messages()

    @property
    def model(self) -> Model | None:
        """The selected model; ``None`` if there is none."""
        return self.models.current

    async def set_model(self, model: Model | str) -> Model:
        """Select a model: a ``Model``, or a pattern such as ``anthropic/opus:high``."""
        return await self.models.select(model)

    async def set_thinking_level(self, level: ThinkingLevel) -> None:
        """Set the thinking level, or the nearest one that the model supports."""
        await self.models.set_thinking_level(level)

    @property
    def active_tools(self) -> tuple[str, ...]:
        """The names of the active tools."""
        return self._core.toolbox.active_names

    @property
    def all_tools(self) -> tuple[str, ...]:
        """The names of all tools, active or not."""
        return self._core.toolbox.names

    def set_active_tools(self, names: Iterable[str]) -> None:
        """Activate only these tools from the next prompt on; unknown names are ignored."""
        self._core.toolbox.select(names)

    async def compact(self, instructions: str = "", *, strategy: str = "") -> CompactionResult:
        """Compact the conversation now, with the named strategy or the configured one."""
        return await self.compaction.compact(instructions, strategy=strategy)

    @property
    def session_id(self) -> str:
        """The id of the session."""
        return self.entries.log.header.id

    @property
    def session_file(self) -> Path | None:
        """The session file; ``None`` in memory."""
        return self.entries.log.file

    async def new_session(self) -> Replaced:
        """Start a new session that replaces this one."""
        return await self.sessions.new()

    async def switch_session(self, path: Path | str) -> Replaced:
        """Resume the session in a file."""
        return await self.sessions.switch(Path(path))

    async def fork(self, entry_id: str) -> Forked:
        """Fork before a user message into a new session; ``tree`` moves within this one."""
        return await self.sessions.fork(entry_id)

    async def export(self, output: str | None = None) -> Path:
        """Write the session as HTML, or in the format of the suffix of ``output``.

        Returns the path.
        """
        return await self.exports.write(output)

    async def dispose(self) -> None:
        """Close the session for good; the original pi's name for ``close``."""
        await self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def _check_queue(parameter: str, queue: str | None) -> None:
    """Raise ``ValueError`` for a queue that does not exist; it would be taken for a follow-up."""
    if queue is not None and queue not in (valid := get_args(Streaming)):
        raise ValueError(f"{parameter} must be one of {', '.join(map(repr, valid))}, not {queue!r}")


def _last_answer(messages: Sequence[SessionMessage]) -> AssistantMessage | None:
    """Return the last answer after the last user message, or ``None``."""
    for message in reversed(messages):
        if isinstance(message, AssistantMessage):
            return message
        if isinstance(message, UserMessage):
            return None
    return None

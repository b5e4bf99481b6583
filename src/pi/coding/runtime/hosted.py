"""A session as its extensions reach it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextvars import Context as TaskContext
from inspect import isawaitable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pi.agent.agent import StreamFn
from pi.agent.declaring import whole
from pi.agent.errors import AgentBusy
from pi.agent.events import MessageEnd, MessageStart
from pi.agent.tool import AgentTool
from pi.ai.auth.storage import AuthStorage
from pi.ai.factory import Network, make_services
from pi.ai.messages import AssistantMessage, Context, Image, Message
from pi.ai.models.model import Model, ThinkingLevel
from pi.ai.request import StreamOptions
from pi.ai.stream import EventStream
from pi.base.clock import Clock
from pi.base.errors import PiError
from pi.base.tasks import TaskScope
from pi.coding.blobs.artifacts import Artifacts
from pi.coding.extension_host.control import Cancelled, Setup
from pi.coding.extension_host.failures import words
from pi.coding.extension_host.prompt_options import SystemPromptOptions
from pi.coding.extension_host.sub_sessions import NestedSession, SubSession
from pi.coding.files.local import LocalFiles
from pi.coding.models.registry import ModelRegistry
from pi.coding.runtime.agent_session import AgentSession
from pi.coding.runtime.core import Core
from pi.coding.runtime.prompt_options import options_from
from pi.coding.runtime.when_idle import WhenIdle
from pi.coding.session.conversion import convert_to_llm
from pi.coding.session.entries import KnownEntry
from pi.coding.session.log import SessionLog
from pi.coding.session.messages import CustomMessage, SessionMessage
from pi.coding.settings.settings import Settings

if TYPE_CHECKING:  # importing it would load the HTTP client before any request is made
    from pi.ai.exchange import Services
    from pi.ai.http.client import HttpClient


class Hosted:
    """Implements ``HostedSession``: each member hands over to a part of the session."""

    def __init__(
        self,
        core: Core,
        session: AgentSession,
        *,
        stream: StreamFn,
        when_idle: WhenIdle,
        reload: Callable[[], Awaitable[None]],
        open_nested: Callable[[SubSession], Awaitable[AgentSession]],
        refresh_policies: Callable[[], None],
    ) -> None:
        self._core = core
        self._parts = session
        self._stream = stream
        self._when_idle = when_idle
        self._reload = reload
        self._open_nested = open_nested
        self._refresh_policies = refresh_policies
        self._tasks = TaskScope()
        self._begun: set[asyncio.Task[None]] = set()
        self._services: Services | None = None
        self.shutdown_wanted = asyncio.Event()

    async def close(self) -> None:
        """End what extensions have begun."""
        await self._tasks.close()
        if self._services is not None:
            await self._services.close()

    async def settled(self) -> None:
        """Until the runs that extensions have begun are over."""
        while self._begun:
            await asyncio.wait(self._begun)

    # What there is to know ------------------------------------------------------------------------

    @property
    def cwd(self) -> Path:
        """The directory that it works in."""
        return self._core.workspace.cwd

    @property
    def log(self) -> SessionLog:
        """Its entries."""
        return self._core.log

    @property
    def registry(self) -> ModelRegistry:
        """The models that there are."""
        return self._core.registry

    @property
    def settings(self) -> Settings:
        """The settings that hold."""
        return self._core.workspace.settings

    @property
    def files(self) -> LocalFiles:
        """The one door to files."""
        return self._core.workspace.files

    @property
    def artifacts(self) -> Artifacts:
        """Long outputs."""
        return self._core.artifacts

    @property
    def credentials(self) -> AuthStorage:
        """Keys and logins."""
        return AuthStorage(self._core.host.agent_dir / "auth.json", clock=self.clock)

    @property
    def environ(self) -> Mapping[str, str]:
        """What pi sees of the environment."""
        return self._core.workspace.environment.values

    @property
    def clock(self) -> Clock:
        """The time."""
        return self._core.host.clock

    @property
    def trusted(self) -> bool:
        """Whether the project is trusted."""
        return self._core.workspace.trust.trusted

    @property
    def model(self) -> Model | None:
        """Who answers."""
        return self._parts.models.current

    @property
    def thinking_level(self) -> ThinkingLevel:
        """How much it thinks."""
        return self._core.agent.thinking_level

    @property
    def scoped_models(self) -> Sequence[Model]:
        """The models to cycle through; empty means all."""
        return tuple(choice.model for choice in self._core.scope)

    @property
    def idle(self) -> bool:
        """Whether no run is under way."""
        return not self._core.agent.is_running

    @property
    def pending(self) -> Sequence[Any]:
        """Messages that wait to be delivered."""
        inbox = self._core.agent.inbox
        return inbox.steering + inbox.follow_ups

    @property
    def partial_answer(self) -> AssistantMessage | None:
        """The answer that is being streamed, as far as it has come."""
        return self._core.agent.partial_answer

    def messages(self) -> Sequence[SessionMessage]:
        """What the model is shown."""
        return self._core.conversation.messages()

    def convert(self, messages: Sequence[SessionMessage]) -> Sequence[Message]:
        """Messages of a session, as models understand them."""
        return convert_to_llm(messages)

    def context_usage(self) -> Any:
        """How full the window is."""
        return self._parts.facts.context_usage()

    def system_prompt(self) -> str:
        """The prompt, as it would be now."""
        return whole(self._parts.prompts.sections())

    def prompt_options(self) -> SystemPromptOptions:
        """What the prompt is made of."""
        return options_from(self._parts.prompts.parts())

    def commands(self) -> Sequence[Any]:
        """What can be typed behind a slash."""
        return self._parts.facts.commands()

    # What can be done at any time -----------------------------------------------------------------

    def ask(self, model: Model, context: Context, options: StreamOptions) -> EventStream:
        """Ask a model beside the conversation."""
        return self._stream(model, context, options)

    def http(self) -> HttpClient:
        """The network, as the settings say."""
        if self._services is None:
            proxy = self.settings.values.http_proxy
            self._services = make_services(self.environ, self.clock, Network(proxy=proxy))
        return self._services.http

    def subscribe(self, listener: Callable[[Any], None]) -> Callable[[], None]:
        """Have ``listener`` called with every public event; gives what ends that."""
        return self._core.agent.subscribe(listener)

    async def tell(self, event: Any) -> None:
        """Tell a public event."""
        await self._core.tell(event)

    def tell_soon(self, event: Any) -> None:
        """Tell a public event, after what is being told."""
        self._start(self._core.tell(event), name="extension event")

    async def add(self, entry: KnownEntry) -> KnownEntry:
        """Append an entry."""
        return await self._core.add(entry)

    async def say(self, message: CustomMessage) -> None:
        """Put a message into the conversation of a session at rest."""
        self._core.conversation.append(message)
        await self._core.tell(MessageStart(message=message))
        await self._core.tell(MessageEnd(message=message))

    def begin(self, message: CustomMessage) -> None:
        """Begin a run with a message."""

        async def run() -> None:
            await self._parts.prompts.prepare()
            try:
                await self._core.agent.prompt((message,))
            except AgentBusy:  # somebody else was faster
                await self._core.agent.follow_up(message)

        self._begin(run)

    def prompt(self, text: str, images: Sequence[Image], *, expand: bool) -> None:
        """Begin a run as if the person had said it."""

        async def run() -> None:
            await self._parts.prompts.prompt(
                text, images, source="extension", streaming="followUp", expand=expand
            )

        self._begin(run)

    async def queue(self, message: Any, *, follow_up: bool) -> None:
        """Have a message delivered in the run that is under way."""
        agent = self._core.agent
        await (agent.follow_up if follow_up else agent.steer)(message)

    async def rename(self, name: str) -> None:
        """Call the session something else."""
        await self._parts.facts.rename(name)

    async def label(self, id: str, label: str | None) -> None:
        """Put a label on an entry."""
        await self._parts.facts.label(id, label)

    def active_tools(self) -> Sequence[str]:
        """The tools that are on."""
        return self._core.toolbox.active_names

    def all_tools(self) -> Sequence[AgentTool]:
        """Every tool that could be on."""
        return self._core.toolbox.listed()

    def set_active_tools(self, names: Sequence[str]) -> None:
        """Have exactly these on from the next request on."""
        self._core.toolbox.choose(names)
        self.refresh_tools()

    def refresh_tools(self) -> None:
        """Have the next request declare what has changed."""
        if self._core.agent.is_running:  # every run begins with the tools that there are
            self._core.agent.tools = self._core.toolbox.active()

    def refresh_policies(self) -> None:
        """Have the next run ask whoever is there now."""
        self._refresh_policies()

    async def use_model(self, model: Model) -> bool:
        """Have another model answer; whether it can."""
        if not self._core.registry.has_auth(model.provider):
            return False
        await self._parts.models.use(model, source="set")
        return True

    async def think(self, level: ThinkingLevel) -> None:
        """Have the model think that much."""
        await self._parts.models.think(level)

    def abort(self) -> None:
        """Ask the run to end."""
        self._core.agent.abort()

    async def compact(self, instructions: str) -> Any:
        """Make the conversation shorter."""
        return await self._parts.compaction.compact(instructions)

    def shutdown(self) -> None:
        """Ask the program to end."""

        async def end() -> None:
            self.shutdown_wanted.set()

        self.when_idle(end)

    async def open_nested(self, spec: SubSession) -> NestedSession:
        """A session that works for this one."""
        return await self._open_nested(spec)

    # What needs rest ------------------------------------------------------------------------------

    async def wait_for_idle(self) -> None:
        """Until nothing is under way."""
        await self._core.agent.wait_for_idle()

    async def new_session(
        self, *, parent_session: str | None = None, setup: Setup | None = None
    ) -> Cancelled:
        """Begin a new session; ``setup`` is given it before anything is said there."""
        self._core.agent.must_be_idle()
        done = await self._parts.sessions.new(parent_session)
        if setup is not None and not done.cancelled:
            waiting = setup(self._core.log)
            if isawaitable(waiting):
                await waiting
        return Cancelled(cancelled=done.cancelled)

    async def fork(self, entry_id: str, *, position: Literal["before", "at"] = "before") -> Any:
        """Go on in a copy of what led to an entry."""
        self._core.agent.must_be_idle()
        if position == "before":
            return await self._parts.sessions.fork(entry_id)
        return await self._parts.sessions.fork_at(entry_id)

    async def switch_session(self, path: Path | str) -> Cancelled:
        """Go on with the session of a file."""
        self._core.agent.must_be_idle()
        done = await self._parts.sessions.switch(Path(path))
        return Cancelled(cancelled=done.cancelled)

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
        self._core.agent.must_be_idle()
        return await self._parts.tree.go_to(
            entry_id,
            summarize=summarize,
            instructions=custom_instructions,
            replace_instructions=replace_instructions,
            label=label,
        )

    async def reload(self) -> None:
        """Read settings, resources and extensions again."""
        self._core.agent.must_be_idle()
        await self._reload()

    def when_idle(self, act: Callable[[], Awaitable[None]]) -> None:
        """Have ``act`` carried out at the next rest."""
        self._when_idle.add(act)

    # ----------------------------------------------------------------------------------------------

    def _begin(self, work: Callable[[], Awaitable[None]]) -> None:
        """Begin a run that nobody waits for; whoever wants to can wait until it has settled."""

        async def run() -> None:
            try:
                await work()
            except PiError as problem:
                self._core.host.report(f"An extension could not begin a run: {words(problem)}")

        task = self._start(run(), name="run of an extension")
        self._begun.add(task)
        task.add_done_callback(self._begun.discard)

    def _start(self, work: Coroutine[Any, Any, None], *, name: str) -> asyncio.Task[None]:
        # A context of its own: whoever asks may be inside a run, and this is none of its work.
        return TaskContext().run(self._tasks.start, work, name=name)

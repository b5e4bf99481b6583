"""``AgentSession``: a running session as programs that embed pi use it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakSet

from pi.agent.events import Listener
from pi.ai.messages import AssistantMessage, Image, UserMessage
from pi.ai.models.model import Model, ThinkingLevel
from pi.base.records import replace
from pi.coding.compaction.events import CompactionResult
from pi.coding.extension_host.events.session import SessionEnding, SessionStarted
from pi.coding.port.results import Forked, Replaced, SessionState, Streaming
from pi.coding.runtime.extensions.session_extensions import SessionExtensions
from pi.coding.runtime.live import LiveSession
from pi.coding.runtime.session.compaction import CompactionControl
from pi.coding.runtime.session.events import AgentSessionEvent, EventFeed, events_during
from pi.coding.runtime.session.info import SessionQueries
from pi.coding.runtime.session.models import ModelSelection
from pi.coding.runtime.session.policies import RetryControl
from pi.coding.runtime.session.prompts import PromptRunner
from pi.coding.runtime.session.shell import UserShell
from pi.coding.session.entries import CustomMessage, SessionMessage
from pi.coding.settings.settings import Settings

if TYPE_CHECKING:
    from pi.coding.runtime.session.accounts import Accounts
    from pi.coding.runtime.session.exports import Exports
    from pi.coding.runtime.session.switching import SessionSwitcher
    from pi.coding.runtime.session.tree import TreeMoves


# A session that runs, put together from parts that do not know each other.


class RunningSession:
    """Implements ``SessionPort``: its parts do the work. Its owner closes it.

    ``sessions``, ``tree`` and ``accounts`` make parts that most sessions never need.
    """

    def __init__(
        self,
        core: LiveSession,
        *,
        prompts: PromptRunner,
        models: ModelSelection,
        sessions: Callable[[], SessionSwitcher],
        tree: Callable[[], TreeMoves],
        shell: UserShell,
        facts: SessionQueries,
        accounts: Callable[[], Accounts],
        compaction: CompactionControl,
        extensions: SessionExtensions,
        retry: RetryControl,
        close: Callable[[], Any],
    ) -> None:
        self.prompts = prompts
        self.models = models
        self._make_sessions = sessions
        self._make_tree = tree
        self.shell = shell
        self.facts = facts
        self._make_accounts = accounts
        self.compaction = compaction
        self.retry = retry
        self.extensions = extensions
        self._core = core
        self._close = close
        self._closed = False
        self._feeds: WeakSet[EventFeed] = WeakSet()

    @cached_property
    def sessions(self) -> SessionSwitcher:
        """Other sessions, in the place of this one."""
        return self._make_sessions()

    @cached_property
    def tree(self) -> TreeMoves:
        """Moves to other places of the session."""
        return self._make_tree()

    @cached_property
    def accounts(self) -> Accounts:
        """The credentials of the person."""
        return self._make_accounts()

    @cached_property
    def exports(self) -> Exports:
        """The session for others, without the secrets that the accounts hold."""
        from pi.coding.runtime.session.exports import Exports

        return Exports(self._core, lambda: self.accounts.secrets())

    @property
    def cwd(self) -> Path:
        """The directory that the session works in."""
        return self._core.workspace.cwd

    @property
    def settings(self) -> Settings:
        """The settings that hold for the session."""
        return self._core.workspace.settings

    def since_session_ms(self) -> int:
        """How long this session has been going on; starts anew with every new one."""
        return self._core.since_session_ms()

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Have ``listener`` called with every public event, in order; gives what ends that."""
        return self._core.agent.subscribe(listener)

    def events(self) -> EventFeed:
        """Iterate over everything that happens from now on, until the session is closed."""
        feed = EventFeed(self.subscribe)
        self._feeds.add(feed)
        if self._closed:
            feed.end()
        return feed

    async def abort(self) -> None:
        """End whatever is under way, and wait until it has ended."""
        if self._core.elsewhere is not None:
            await self._core.elsewhere.abort()
        await self.stop()

    async def stop(self) -> None:
        """End what is under way here, whoever runs the session."""
        self.prompts.gate.give_up()
        self._core.agent.abort()
        self.compaction.abort()
        if "tree" in vars(self):  # made already: there may be something to stop
            self.tree.abort()
        await self._core.agent.wait_for_idle()

    async def wait_for_idle(self) -> None:
        """Until nothing is under way."""
        await self._core.agent.wait_for_idle()

    async def start(self) -> None:
        """Tell everybody that the session is there."""
        await self._core.bus.emit(SessionStarted(reason="startup"))

    async def close(self) -> None:
        """End what is under way, store what there is, and let everything go."""
        if self._closed:
            return
        self._closed = True
        self.shell.stop()
        await self.stop()
        self.shell.flush()
        await self._core.bus.emit(SessionEnding(reason="quit"))
        self._core.log.close()
        await self._core.workspace.close()
        await self._close()
        for feed in self._feeds:
            feed.end()


# What a program that embeds pi says to the model, in nobody's name.


async def send_custom(
    core: LiveSession,
    message: CustomMessage,
    *,
    deliver_as: Streaming,
    trigger_turn: bool,
    prepare: Callable[[], Awaitable[None]],
) -> None:
    """Have the model see ``message``.

    While it works, ``deliver_as`` says when. At rest the message is only kept, unless
    ``trigger_turn`` says to ask the model, after ``prepare``, and to wait until it is idle again.
    """
    agent = core.agent
    message = replace(message, timestamp=message.timestamp or core.host.clock.now_ms())
    if core.busy:
        await (agent.steer if deliver_as == "steer" else agent.follow_up)(message)
    elif trigger_turn:
        await prepare()
        await agent.prompt((message,))
    else:
        await core.say(message)


class AgentSession(RunningSession):
    """The usual in one place; each method hands over to a part, where the seldom needed is.

    Its owner closes it, or uses it with ``async with``.
    """

    async def prompt(
        self, text: str, images: Sequence[Image] = (), *, streaming: Streaming | None = None
    ) -> AssistantMessage | None:
        """Say something and wait until the agent is idle again; gives its last answer.

        A failed answer is an answer, too: see its ``stop_reason``. While the agent works,
        ``streaming`` says how to queue the text; then, or when no answer came of it, ``None``.
        """
        ended = await self.prompts.prompt(text, images, streaming=streaming)
        return None if ended is None else _answer(self.messages)

    def stream(
        self, text: str, images: Sequence[Image] = ()
    ) -> AsyncGenerator[AgentSessionEvent, None]:
        """Say something and iterate over what happens, until the agent is idle again.

        Leaving the loop early ends the run; ``contextlib.aclosing`` makes that happen at once.
        """
        return events_during(lambda: self.prompt(text, images), self.events)

    async def steer(self, text: str, images: Sequence[Image] = ()) -> None:
        """Have it delivered after the tools of the current turn."""
        await self.prompts.steer(text, images)

    async def follow_up(self, text: str, images: Sequence[Image] = ()) -> None:
        """Have it delivered when the agent would stop."""
        await self.prompts.follow_up(text, images)

    async def send_user_message(
        self, text: str, images: Sequence[Image] = (), *, deliver_as: Streaming | None = None
    ) -> AssistantMessage | None:
        """As ``prompt``, but nothing in the text is a command, a skill or a template."""
        ended = await self.prompts.prompt(
            text, images, streaming=deliver_as, source="extension", expand=False
        )
        return None if ended is None else _answer(self.messages)

    async def send_custom_message(
        self,
        message: CustomMessage,
        *,
        deliver_as: Streaming = "steer",
        trigger_turn: bool = False,
    ) -> None:
        """Tell the model something that the person did not say; it is kept, as everything is.

        While the model works, ``deliver_as`` says when it sees it. At rest it sees it with the next
        prompt, or at once with ``trigger_turn``; then this waits until the agent is idle again.
        """
        await send_custom(
            self._core,
            message,
            deliver_as=deliver_as,
            trigger_turn=trigger_turn,
            prepare=self.prompts.prepare,
        )

    @property
    def state(self) -> SessionState:
        """What the session is at this moment."""
        return self.facts.state()

    @property
    def messages(self) -> Sequence[SessionMessage]:
        """What the model is shown, system messages included."""
        return self.facts.messages()

    @property
    def model(self) -> Model | None:
        """The model that answers; ``None`` when there is nobody to ask."""
        return self.models.current

    async def set_model(self, model: Model | str) -> Model:
        """Have another model answer: one, or a pattern such as ``anthropic/opus:high``."""
        return await self.models.pick(model)

    async def set_thinking_level(self, level: ThinkingLevel) -> None:
        """Have the model think that much, or as much as it can."""
        await self.models.think(level)

    @property
    def active_tools(self) -> tuple[str, ...]:
        """The names of the tools that are on."""
        return self._core.toolbox.active_names

    @property
    def all_tools(self) -> tuple[str, ...]:
        """The names of all tools that there are, on or off."""
        return self._core.toolbox.names

    def set_active_tools(self, names: Iterable[str]) -> None:
        """Have exactly these tools on from the next prompt on; unknown names are left out."""
        self._core.toolbox.choose(names)

    async def compact(self, instructions: str = "") -> CompactionResult:
        """Make the conversation shorter now."""
        return await self.compaction.compact(instructions)

    @property
    def session_id(self) -> str:
        """The id of the session."""
        return self.facts.header.id

    @property
    def session_file(self) -> Path | None:
        """Where the session is kept; ``None`` in memory."""
        return self.facts.file

    async def new_session(self) -> Replaced:
        """Begin a new session in the place of this one."""
        return await self.sessions.new()

    async def switch_session(self, path: Path | str) -> Replaced:
        """Go on with the session of a file."""
        return await self.sessions.switch(Path(path))

    async def fork(self, entry_id: str) -> Forked:
        """Go on in a copy of what led to something that was said; ``tree`` moves without one."""
        return await self.sessions.fork(entry_id)

    async def export(self, output: str | None = None) -> Path:
        """Write the session as a page, or as what the name of ``output`` says; gives the path."""
        return await self.exports.write(output)

    async def dispose(self) -> None:
        """The specification's name for ``close``."""
        await self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def _answer(messages: Sequence[SessionMessage]) -> AssistantMessage | None:
    """What was answered to the last thing that was said."""
    for message in reversed(messages):
        if isinstance(message, AssistantMessage):
            return message
        if isinstance(message, UserMessage):
            return None
    return None

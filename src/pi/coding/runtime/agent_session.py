"""``AgentSession``: a session that runs, put together from parts that do not know each other."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakSet

from pi.agent.listeners import Listener
from pi.ai.messages import AssistantMessage, Image, UserMessage
from pi.ai.models.model import Model, ThinkingLevel
from pi.coding.compaction.events import CompactionResult
from pi.coding.retry.policy import RetryPolicy
from pi.coding.runtime.accounts import Accounts
from pi.coding.runtime.compaction import Compacting
from pi.coding.runtime.core import Core
from pi.coding.runtime.events import SessionEnding, SessionStarted, Streaming
from pi.coding.runtime.extensions import Extensions
from pi.coding.runtime.info import SessionFacts
from pi.coding.runtime.model_selection import ModelSelection
from pi.coding.runtime.prompting import Prompting
from pi.coding.runtime.replacing import Replacing
from pi.coding.runtime.results import Forked, Replaced, SessionState
from pi.coding.runtime.tree_moves import TreeMoves
from pi.coding.runtime.user_shell import UserShell
from pi.coding.runtime.watching import AgentSessionEvent, EventFeed, events_during
from pi.coding.session.messages import SessionMessage
from pi.coding.settings.settings import Settings

if TYPE_CHECKING:  # most sessions are never exported
    from pi.coding.export.share import Shared


class AgentSession:
    """Implements ``SessionPort``, and gives programs that embed pi the usual in one place.

    Its parts do the work; what is seldom needed is found there. Its owner closes it, or uses it
    with ``async with``.
    """

    def __init__(
        self,
        core: Core,
        *,
        prompts: Prompting,
        models: ModelSelection,
        sessions: Replacing,
        tree: TreeMoves,
        shell: UserShell,
        facts: SessionFacts,
        accounts: Accounts,
        compaction: Compacting,
        extensions: Extensions,
        retry: RetryPolicy,
        close: Callable[[], Any],
    ) -> None:
        self.prompts = prompts
        self.models = models
        self.sessions = sessions
        self.tree = tree
        self.shell = shell
        self.facts = facts
        self.accounts = accounts
        self.compaction = compaction
        self.extensions = extensions
        self._core = core
        self._retry = retry
        self._close = close
        self._closed = False
        self._feeds: WeakSet[EventFeed] = WeakSet()

    # For programs that embed pi: each hands over to a part ----------------------------------------

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

    def events(self) -> EventFeed:
        """Iterate over everything that happens from now on, until the session is closed."""
        feed = EventFeed(self.subscribe)
        self._feeds.add(feed)
        if self._closed:
            feed.end()
        return feed

    async def steer(self, text: str, images: Sequence[Image] = ()) -> None:
        """Have it delivered after the tools of the current turn."""
        await self.prompts.steer(text, images)

    async def follow_up(self, text: str, images: Sequence[Image] = ()) -> None:
        """Have it delivered when the agent would stop."""
        await self.prompts.follow_up(text, images)

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

    async def dispose(self) -> None:
        """The specification's name for ``close``."""
        await self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # As modes use it ------------------------------------------------------------------------------

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

    async def abort(self) -> None:
        """End whatever is under way, and wait until it has ended."""
        self._core.agent.abort()
        self.compaction.abort()
        self.tree.abort()
        await self._core.agent.wait_for_idle()

    async def abort_retry(self) -> None:
        """Give up the retry that is being waited for."""
        await self._retry.cancel()

    def set_auto_retry(self, *, enabled: bool) -> None:
        """Say for this session whether failed answers are asked for again."""
        self.settings.override({"retry.enabled": enabled})

    def set_queue_modes(self, *, steering: str | None = None, follow_up: str | None = None) -> None:
        """Say for this session how queued messages are delivered, all at once or one by one."""
        inbox = self._core.agent.inbox
        if steering is not None:
            inbox.steering_mode = steering  # type: ignore[assignment]
            self.settings.override({"steeringMode": steering})
        if follow_up is not None:
            inbox.follow_up_mode = follow_up  # type: ignore[assignment]
            self.settings.override({"followUpMode": follow_up})

    async def export(self, output: str | None = None) -> Path:
        """Write the session as a page, or as what the name of ``output`` says."""
        # Here, not above: most sessions are never exported.
        from pi.coding.runtime.exporting import export

        return await export(self._core, output)

    async def dump(self) -> str:
        """The branch as text, without the person's secrets; empty if nothing was said."""
        from pi.coding.runtime.exporting import dump  # as above

        return await dump(self._core)

    async def share(self) -> Shared:
        """Pass the session on as a page; cancelling ends the upload."""
        from pi.coding.runtime.exporting import share  # as above

        return await share(self._core)

    async def wait_for_idle(self) -> None:
        """Until nothing is under way."""
        await self._core.agent.wait_for_idle()

    async def start(self) -> None:
        """Tell everybody that the session is there."""
        await self._core.bus.tell(SessionStarted(reason="startup"))

    async def close(self) -> None:
        """End what is under way, store what there is, and let everything go."""
        if self._closed:
            return
        self._closed = True
        self.shell.stop()
        await self.abort()
        self.shell.flush()
        await self._core.bus.tell(SessionEnding(reason="quit"))
        self._core.log.close()
        await self._core.workspace.close()
        await self._close()
        for feed in self._feeds:
            feed.end()


def _answer(messages: Sequence[SessionMessage]) -> AssistantMessage | None:
    """What was answered to the last thing that was said."""
    for message in reversed(messages):
        if isinstance(message, AssistantMessage):
            return message
        if isinstance(message, UserMessage):
            return None
    return None

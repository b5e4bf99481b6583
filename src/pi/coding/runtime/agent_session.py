"""``AgentSession``: a running session as programs that embed pi use it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Sequence
from pathlib import Path
from typing import Self

from pi.ai.messages import AssistantMessage, Image, UserMessage
from pi.ai.models.model import Model, ThinkingLevel
from pi.coding.compaction.events import CompactionResult
from pi.coding.runtime.custom_messages import send_custom
from pi.coding.runtime.events import Streaming
from pi.coding.runtime.results import Forked, Replaced, SessionState
from pi.coding.runtime.running_session import RunningSession
from pi.coding.runtime.watching import AgentSessionEvent, events_during
from pi.coding.session.messages import CustomMessage, SessionMessage


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

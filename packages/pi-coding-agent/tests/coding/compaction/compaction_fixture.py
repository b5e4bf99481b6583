"""A session with an agent, a scripted model and the compaction policy, as the runtime wires it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from pi.agent.agent import Agent
from pi.agent.compaction.summarise import Ask, SummaryRequest
from pi.agent.events import EntryAppended
from pi.agent.tools.tool import AgentTool
from pi.ai.messages import AssistantMessage, Json, Usage
from pi.ai.models.model import Model
from pi.ai.providers.faux import FAUX_MODEL, Step
from pi.ai.request import Call, StreamOptions
from pi.base.records import replace
from pi.coding.bus import EventBus
from pi.coding.compaction.automatic import CompactionPolicy, Compactor
from pi.coding.compaction.events import CompactionReason
from pi.coding.compaction.options import CompactionOptions
from pi.coding.compaction.remote import RemoteCompaction
from pi.coding.compaction.strategies import ShakeStrategy, Strategy, SummaryStrategy
from pi.coding.session.context import convert_to_llm
from pi.coding.session.conversation import SessionConversation
from pi.coding.session.entries import KnownEntry
from pi.coding.session.opening import SessionLocation, new_session
from pi.testing import FakeClock, Reply, ScriptedStream, says

SMALL = replace(FAUX_MODEL, context_window=10_000, max_tokens=2_000)
OPTIONS = CompactionOptions(reserve_tokens=2_000, keep_recent_tokens=1_000)


SUMMARY = "The work went on and came to an end."
"""A summary that mentions nothing of the conversation."""


def always(call: Call) -> Reply:
    """Return the same summary for every request."""
    return says(SUMMARY)


class CompactionFixture:
    """Records every emitted event and every requested summary."""

    def __init__(
        self,
        *steps: Step,
        summaries: Sequence[Step] = (),
        options: CompactionOptions = OPTIONS,
        model: Model = SMALL,
        fallbacks: Sequence[Model] = (),
        tools: Sequence[AgentTool] = (),
        strategies: Mapping[str, Strategy] | None = None,
    ) -> None:
        self.clock = FakeClock()
        self.bus = EventBus()
        self.emitted: list[Any] = []
        self.handed: list[str] = []
        self.summariser = ScriptedStream(*summaries)
        self.stream = ScriptedStream(*steps)
        self.log = new_session(
            SessionLocation(directory=None, cwd="/somewhere", report=lambda text: None)
        )
        self.conversation = SessionConversation(self.log)
        self.options = options
        self.fallbacks = fallbacks
        self.remote: RemoteCompaction | None = None
        self.agent = Agent(
            self.stream,
            model=model,
            conversation=self.conversation,
            convert_to_llm=convert_to_llm,
            tools=tools,
            clock=self.clock,
        )
        self.around = FakeCompactionSession(
            self, strategies or {"context-full": SummaryStrategy(), "shake": ShakeStrategy()}
        )
        self.compactor = Compactor(self.around)
        self.agent.policies = (CompactionPolicy(self.compactor, self.around),)
        self.agent.subscribe(self.emitted.append)

    @property
    def order(self) -> list[str]:
        """The names of the emitted events, without deltas."""
        names = [msgspec.to_builtins(event)["type"] for event in self.emitted]
        return [name for name in names if name != "message_update"]

    def events(self, kind: type[Any]) -> list[Any]:
        """The emitted events of one kind."""
        return [event for event in self.emitted if isinstance(event, kind)]

    @property
    def shown(self) -> str:
        """Everything that the model would be shown now, as text."""
        messages = convert_to_llm(self.conversation.messages())
        return "\n".join(msgspec.json.encode(message).decode() for message in messages)

    @property
    def kinds(self) -> list[str]:
        """The kinds of entries in the log."""
        return [outline.type for outline in self.log.tree.outlines]


class FakeCompactionSession:
    """Implements ``CompactionSession`` with the conversation and the agent of a fixture."""

    def __init__(self, fixture: CompactionFixture, strategies: Mapping[str, Strategy]) -> None:
        self._fixture = fixture
        self.strategies = strategies
        self.agent = fixture.agent
        self.bus = fixture.bus
        self.clock = fixture.clock
        self.agent = fixture.agent

    def conversation(self) -> SessionConversation:
        return self._fixture.conversation

    def options(self) -> CompactionOptions:
        return self._fixture.options

    def fallbacks(self) -> Sequence[Model]:
        return self._fixture.fallbacks

    async def emit(self, event: Any) -> None:
        self._fixture.emitted.append(event)

    async def add(self, draft: KnownEntry) -> KnownEntry:
        public, log = self._fixture.conversation.add(draft), self._fixture.log
        if public is not None:
            await self.emit(EntryAppended(entry=public))
        assert log.leaf is not None
        return log.at(log.leaf)  # type: ignore[return-value]

    async def hand_off(self, document: str, *, go_on: bool, details: Json | None) -> None:
        self._fixture.handed.append(document)

    async def load_strategy(self, name: str) -> None:
        """Does nothing: all strategies are loaded."""

    def remote(self) -> RemoteCompaction | None:
        return self._fixture.remote

    def ask(self, model: Model, reason: CompactionReason, *, is_last: bool) -> Ask:
        async def ask(request: SummaryRequest) -> AssistantMessage:
            stream = self._fixture.summariser(model, request.context, StreamOptions())
            return await stream.result()

        return ask


def answers(text: str, tokens: int) -> Reply:
    """A response with this token count of the provider."""
    return replace(says(text), usage=Usage(input=tokens - 10, output=10, total_tokens=tokens))

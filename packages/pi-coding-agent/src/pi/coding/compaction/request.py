"""``CompactionRequest``, and ``CompactionSession``: what a compaction uses of its session."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from pi.agent.agent import Agent
from pi.ai.messages import Json
from pi.ai.models.model import Model
from pi.base.clock import Clock
from pi.base.records import Record, replace
from pi.coding.bus import EventBus
from pi.coding.compaction.options import CompactionOptions
from pi.coding.session.conversation import SessionConversation
from pi.coding.session.entries import KnownEntry

if TYPE_CHECKING:  # types only: most sessions never compact
    from pi.agent.compaction.summarise import Ask
    from pi.coding.compaction.events import CompactionReason
    from pi.coding.compaction.remote import RemoteCompaction
    from pi.coding.compaction.strategies import Strategy

EmitEvent: TypeAlias = Callable[[Any], Awaitable[None]]
"""Emits a public event."""


class CompactionRequest(Record):
    """One requested compaction."""

    reason: CompactionReason
    instructions: str = ""
    """Instructions of the user; they require a summary, whatever strategy is configured."""
    strategy: str = ""
    """The strategy that the user named; otherwise the configured one is used."""
    will_retry: bool = False
    """Whether the model request is repeated afterwards."""
    leave_out: str = ""
    """Id of a response to hide from the model after the compaction has succeeded."""
    before_prompt: bool = False
    """Whether a prompt waits for the compaction."""


class CompactArguments(Record):
    """The arguments of ``/compact``."""

    strategy: str = ""
    instructions: str = ""
    preview: bool = False

    @classmethod
    def parse(cls, text: str) -> CompactArguments:
        """Read ``[--preview] [strategy:NAME] [instructions]``.

        Options come first. Every other word is an instruction, also the name of a strategy.
        """
        parsed, rest = cls(), text.strip()
        while True:
            word, _, after = rest.partition(" ")
            if word == "--preview":
                parsed = replace(parsed, preview=True)
            elif word.startswith("strategy:") and word != "strategy:":
                parsed = replace(parsed, strategy=word.removeprefix("strategy:"))
            else:
                return replace(parsed, instructions=rest)
            rest = after.strip()


class CompactionSession(Protocol):
    """The part of a session that a compaction uses; settings and models may change."""

    @property
    def bus(self) -> EventBus:
        """The bus of the session."""
        ...

    @property
    def agent(self) -> Agent:
        """The agent; its current model writes the summaries."""
        ...

    @property
    def clock(self) -> Clock:
        """The clock."""
        ...

    @property
    def strategies(self) -> Mapping[str, Strategy]:
        """All strategies by name."""
        ...

    async def load_strategy(self, name: str, /) -> None:
        """Load the extension that provides the strategy ``name``, if there is one."""
        ...

    def conversation(self) -> SessionConversation:
        """The current conversation."""
        ...

    def options(self) -> CompactionOptions:
        """The current settings."""
        ...

    def fallbacks(self) -> Sequence[Model]:
        """Models to use when the session's own model returns no summary."""
        ...

    def ask(self, model: Model, reason: CompactionReason, *, is_last: bool) -> Ask:
        """Return the function that calls ``model``; ``is_last`` if no other model follows."""
        ...

    def remote(self) -> RemoteCompaction | None:
        """Return the server that compacts; ``None`` unless it is enabled."""
        ...

    async def add(self, draft: KnownEntry, /) -> KnownEntry:
        """Append an entry, and emit it if its kind is public."""
        ...

    async def emit(self, event: Any, /) -> None:
        """Emit a public event."""
        ...

    async def hand_off(self, document: str, /, *, go_on: bool, details: Json | None) -> None:
        """Continue in a new session that begins with a document, once the run has ended."""
        ...

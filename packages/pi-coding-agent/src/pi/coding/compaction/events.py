"""Events of compactions.

The JSON form of ``CompactionStart`` and ``CompactionEnd`` is the one of JSON mode and RPC. The
others go over the bus to extensions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias

from msgspec import UNSET, UnsetType, field

from pi.ai.messages import Image, Json, Text, Usage
from pi.base.records import Record, replace
from pi.coding.bus import Event, Query
from pi.coding.session.entries import Compaction, Entry

if TYPE_CHECKING:
    from pi.agent.compaction.prepare import Preparation


CompactionReason: TypeAlias = Literal["manual", "threshold", "overflow", "incomplete", "idle"]


class CompactionResult(Record):
    """Result of a compaction, with the JSON names of RPC."""

    summary: str
    first_kept_id: str = field(name="firstKeptEntryId")
    tokens_before: int
    estimated_tokens_after: int | UnsetType = UNSET
    usage: Usage | UnsetType = UNSET
    details: Any | UnsetType = UNSET
    short_summary: str | UnsetType = UNSET
    """One sentence for the user."""
    note: str | UnsetType = UNSET
    """Why another strategy than the selected one was used; for the user."""
    content: tuple[Text | Image, ...] | UnsetType = UNSET
    """Shown to the model instead of ``summary``. Stored, but not part of public results."""
    preserve_data: Json | UnsetType = UNSET
    """Data that the strategy needs at the next compaction. Not part of public results either."""

    def public(self) -> CompactionResult:
        """Return the result for events and protocols: pictures would be megabytes of base64."""
        return replace(self, content=UNSET, preserve_data=UNSET)


class CompactionStart(Record, tag="compaction_start"):
    """A compaction begins."""

    reason: CompactionReason


class CompactionEnd(Record, tag="compaction_end"):
    """A compaction has ended; without a ``result`` nothing has changed."""

    reason: CompactionReason
    result: CompactionResult | UnsetType = UNSET
    aborted: bool = False
    """Aborted by the user, cancelled by an extension, or the branch was left."""
    will_retry: bool = False
    error_message: str | UnsetType = UNSET
    """Why it was declined or failed; not set if it was aborted."""
    handed_off: bool | UnsetType = UNSET
    """Whether the conversation continues in another session; this one is not compacted."""


class ContextFullAnswer(Record):
    """Answer to ``context_full``."""

    handled: bool = False
    """Whether there is room again, so that nothing has to be compacted."""


class ContextFullEvent(Query):
    """The conversation is about to be compacted automatically: a handler can make room itself.

    For example by switching to a model with a larger window. After ``overflow`` and ``incomplete``
    the request is then repeated. A handler can make room once per prompt: a second overflow is
    compacted without this event.
    """

    answer: ClassVar[type[Record]] = ContextFullAnswer
    reason: CompactionReason
    tokens: int
    """Tokens in use."""
    window: int
    """The window of the current model."""
    handled: bool = False

    def with_answer(self, answer: ContextFullAnswer) -> Self:
        """Combine the answers: it is enough that one handler has made room."""
        return replace(self, handled=self.handled or answer.handled)

    @property
    def is_settled(self) -> bool:
        """Whether a handler has made room."""
        return self.handled


class CompactDecision(Record):
    """Answer to ``session_before_compact``."""

    cancel: bool = False
    compaction: CompactionResult | None = None
    """A finished compaction, used instead of calling a model."""


class SessionBeforeCompactEvent(Query):
    """A compaction is about to begin: a handler can cancel it or do it itself."""

    answer: ClassVar[type[Record]] = CompactDecision
    preparation: Preparation
    branch_entries: Sequence[Entry]
    custom_instructions: str
    reason: CompactionReason
    will_retry: bool
    decision: CompactDecision = CompactDecision()

    def with_answer(self, answer: CompactDecision) -> Self:
        """The last answer wins; a compaction may be a dict with the names of the original."""
        compaction: Any = answer.compaction
        if isinstance(compaction, dict):
            answer = replace(answer, compaction=_compaction(compaction))
        return replace(self, decision=answer)

    @property
    def is_settled(self) -> bool:
        """Whether a handler has cancelled."""
        return self.decision.cancel


def _compaction(mapping: Mapping[str, Any]) -> CompactionResult:
    fields = dict(mapping)
    if "first_kept_entry_id" in fields:
        fields["first_kept_id"] = fields.pop("first_kept_entry_id")
    return CompactionResult(**fields)


class CompactingAnswer(Record):
    """Answer to ``session_compacting``."""

    prompt: str = ""
    context: tuple[str, ...] = ()
    preserve_data: Json = field(default_factory=dict)

    def and_then(self, answer: CompactingAnswer) -> CompactingAnswer:
        """Combine two answers: contexts and data add up, the last prompt wins."""
        return CompactingAnswer(
            prompt=answer.prompt or self.prompt,
            context=self.context + answer.context,
            preserve_data=self.preserve_data | answer.preserve_data,
        )


class SessionCompactingEvent(Query):
    """A summary is about to be requested: handlers can add to its prompt."""

    answer: ClassVar[type[Record]] = CompactingAnswer
    reason: CompactionReason
    added: CompactingAnswer = CompactingAnswer()

    def with_answer(self, answer: CompactingAnswer) -> Self:
        """Combine all answers."""
        return replace(self, added=self.added.and_then(answer))


class SessionCompactEvent(Event):
    """A compaction was appended to the log."""

    compaction_entry: Compaction
    from_extension: bool
    reason: CompactionReason
    will_retry: bool


class SessionCompactFailedEvent(Event):
    """A compaction failed or was aborted; ``error_message`` is empty if it was aborted."""

    reason: CompactionReason
    error_message: str
    aborted: bool
    will_retry: bool
    from_extension: bool = False

"""Ask a model for notes on a conversation, and take only notes that can be used."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Literal, TypeAlias

from pi.agent.compaction.boundaries import SUMMARY_TAGS, defused, without_blocks
from pi.agent.compaction.errors import CompactionFailed
from pi.agent.compaction.prompts import SYSTEM, Guidance, Kind, question
from pi.agent.compaction.serialisation import cut_to_size, size, windows
from pi.agent.compaction.settings import CompactionSettings
from pi.agent.compaction.tokens import estimate_tokens
from pi.agent.compaction.usage import added
from pi.ai.estimate import ROOM_FOR_ERROR, SMALLEST_ANSWER
from pi.ai.messages import AssistantMessage, Context, Usage, UserMessage
from pi.ai.models.model import Model
from pi.ai.overflow import is_overflow
from pi.base.records import Record

Purpose: TypeAlias = Literal["compaction", "branch_summary"]

BYTES_PER_TOKEN = 3
"""Fewer than in an estimate: a request that does not fit is lost, one that is small is not."""
UNKNOWN_WINDOW = 32_768
"""Tokens that are counted on where nobody knows how large the window is."""
SMALLEST_WINDOW = 500
"""Tokens of conversation below which asking makes no sense."""


class SummaryRequest(Record):
    """One request to the summarising model; it offers no tools.

    Whoever asks adds the session's thinking level, credentials and endpoint, and a cache identity
    of its own.
    """

    context: Context
    max_tokens: int
    """The largest answer, thinking included."""
    purpose: Purpose


Ask: TypeAlias = Callable[[SummaryRequest], Awaitable[AssistantMessage]]
"""Reaches a model. A failure is an answer whose ``stop_reason`` says so, as in a stream."""


class Summariser:
    """One model with its limits; requests go out one after another, and their cost is counted."""

    def __init__(
        self, ask: Ask, model: Model, settings: CompactionSettings, purpose: Purpose
    ) -> None:
        self._ask = ask
        self._purpose = purpose
        self._window = model.context_window if model.context_window > 0 else UNKNOWN_WINDOW
        self._largest_answer = model.max_tokens
        wanted = max(SMALLEST_ANSWER, settings.reserve_tokens // 2)
        self._answer = min(wanted, model.max_tokens, self._window // 8)
        self.usage = Usage()

    async def notes(
        self,
        texts: Sequence[str],
        kind: Kind,
        *,
        previous: str = "",
        guidance: Guidance | None = None,
        most_tokens: int | None = None,
    ) -> str:
        """Notes on ``texts`` that go on from ``previous``, part by part where it does not fit.

        Notes longer than ``most_tokens`` are not taken.
        """
        guidance = guidance or Guidance()
        room = self.room(kind, guidance)
        while room >= SMALLEST_WINDOW * BYTES_PER_TOKEN:
            try:
                notes = previous
                for part in windows(texts, room):
                    notes = await self._usable(part, kind, notes, guidance, most_tokens)
                return notes
            except _TooLong:
                room //= 2  # the estimate was wrong for this text or this model
        raise CompactionFailed(
            "too_large",
            f"Not even a part of the conversation fits the summarising model"
            f" (window of {self._window} tokens).",
            hint="Choose a model with a larger context window.",
        )

    def room(self, kind: Kind, guidance: Guidance) -> int:
        """Bytes of conversation that fit into one request beside everything else in it."""
        fixed = size(SYSTEM) + size(question(kind, "", previous="-", guidance=guidance))
        tokens = (
            self._window
            - 2 * self._answer  # a second attempt may write twice as much
            - self._window // 4  # for earlier notes
            - min(ROOM_FOR_ERROR, self._window // 16)
        )
        return tokens * BYTES_PER_TOKEN - fixed

    async def _usable(
        self, part: str, kind: Kind, previous: str, guidance: Guidance, most_tokens: int | None
    ) -> str:
        earlier = cut_to_size(previous, self._window // 4 * BYTES_PER_TOKEN)
        ask_for = partial(question, kind, part, previous=earlier, guidance=guidance)
        notes, problem = await self._attempt(ask_for(), self._answer, most_tokens)
        if problem is not None:
            again = ask_for(complaint=problem.message)
            notes, problem = await self._attempt(again, 2 * self._answer, most_tokens)
        if problem is not None:
            raise problem
        return notes

    async def _attempt(
        self, prompt: str, answer_tokens: int, most_tokens: int | None
    ) -> tuple[str, CompactionFailed | None]:
        """The notes of one answer, and why they cannot be used."""
        request = SummaryRequest(
            context=Context(system_prompt=SYSTEM, messages=(UserMessage(content=prompt),)),
            max_tokens=min(answer_tokens, self._largest_answer),
            purpose=self._purpose,
        )
        answer = await self._ask(request)
        self.usage = added(self.usage, answer.usage)
        notes = defused(without_blocks(answer.text), SUMMARY_TAGS)
        return notes, _problem(answer, notes, most_tokens)


class _TooLong(Exception):
    """The provider says that the request does not fit the window."""


def _problem(
    answer: AssistantMessage, notes: str, most_tokens: int | None
) -> CompactionFailed | None:
    """Why an answer is no summary; ``None`` when it is one."""
    match answer.stop_reason:
        case "aborted":
            raise CompactionFailed("aborted", "The summary was aborted.")
        case "error" if is_overflow(answer.error_message or ""):
            raise _TooLong
        case "error":
            why = answer.error_message or "the provider gave no reason"
            return CompactionFailed("summary_failed", f"The summary failed: {why}")
        case "length":
            return CompactionFailed("summary_failed", "The summary was cut off at its limit.")
        case "toolUse" | "deferred" | "pending":
            return CompactionFailed("summary_failed", "The summary was left unfinished.")
    if not notes:
        return CompactionFailed("summary_failed", "The summary was empty.")
    if most_tokens is not None and estimate_tokens(notes) > most_tokens:
        return CompactionFailed("not_smaller", "The summary is longer than what it stands for.")
    return None

"""Asking models for summaries: with the session's own thinking, credentials and retries."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from pi.agent.agent import StreamFn
from pi.agent.compaction.errors import CompactionFailed
from pi.ai.messages import AssistantMessage
from pi.ai.models.model import Model
from pi.ai.request import StreamOptions
from pi.base.records import UNSET, replace
from pi.coding.retry.asking import Attempt, with_retries
from pi.coding.retry.backoff import RetrySettings, asks_for_too_long_a_wait
from pi.coding.retry.events import SummarizationRetryAttemptStart
from pi.coding.runtime.core import Core

if TYPE_CHECKING:  # loaded with the first summary
    from pi.agent.compaction.summarising import Ask, SummaryRequest

LONG_DELAY_MS = 10_000
"""A pause that nobody waits for while another model can be asked for the summary."""


class Summaries:
    """Requests beside the conversation; each kind has a cache identity of its own."""

    def __init__(
        self,
        core: Core,
        stream: StreamFn,
        *,
        options: Callable[[], StreamOptions],
        retry: Callable[[], RetrySettings],
    ) -> None:
        self._core = core
        self._stream = stream
        self._options = options
        self._retry = retry

    def ask(
        self,
        model: Model,
        source: Literal["compaction", "branchSummary"],
        reason: str = "",
        *,
        is_last: bool = True,
    ) -> Ask:
        """A way to ask ``model``; retries are told with their ``source`` and ``reason``.

        Unless it ``is_last``, another model can be asked, and no long pause is waited for.
        """
        began = SummarizationRetryAttemptStart(source=source, reason=reason or UNSET)

        async def asked(request: SummaryRequest) -> AssistantMessage:
            options = replace(
                self._options(),
                reasoning=self._core.agent.thinking_level,
                max_tokens=request.max_tokens,
                session_id=f"{self._core.log.header.id}-{request.purpose}",
            )

            async def once() -> Attempt:
                answer = self._stream(model, request.context, options)
                message = await answer.result()
                return Attempt(answer=message, failure=answer.failure)

            settings = self._retry()
            if not is_last:
                longest = min(settings.max_agent_delay_ms, LONG_DELAY_MS)
                settings = replace(settings, max_agent_delay_ms=longest)
            attempt = await with_retries(
                once, settings, began=began, tell=self._core.tell, clock=self._core.host.clock
            )
            if asks_for_too_long_a_wait(attempt.failure, settings):
                # The caller would ask once more at once, as after a summary that cannot be used.
                why = attempt.answer.error_message or "rate limited"
                raise CompactionFailed("summary_failed", f"The summary failed: {why}")
            return attempt.answer

        return asked

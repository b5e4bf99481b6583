"""Asking models for summaries: with the session's own thinking, credentials and retries."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from pi.agent.agent import StreamFn
from pi.ai.messages import AssistantMessage
from pi.ai.models.model import Model
from pi.ai.request import StreamOptions
from pi.base.records import UNSET, replace
from pi.coding.retry.asking import Attempt, with_retries
from pi.coding.retry.backoff import RetrySettings
from pi.coding.retry.events import SummarizationRetryAttemptStart
from pi.coding.runtime.core import Core

if TYPE_CHECKING:  # loaded with the first summary
    from pi.agent.compaction.summarising import Ask, SummaryRequest


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
        self, model: Model, source: Literal["compaction", "branchSummary"], reason: str = ""
    ) -> Ask:
        """A way to ask ``model``; retries are told with their ``source`` and ``reason``."""
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

            return await with_retries(
                once, self._retry(), began=began, tell=self._core.tell, clock=self._core.host.clock
            )

        return asked

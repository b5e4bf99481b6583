"""Connects compaction to a session: settings, strategies, summary requests, manual compaction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Literal, Protocol

from msgspec import UNSET

from pi.agent.compaction.errors import CompactionFailed
from pi.ai.messages import AssistantMessage
from pi.ai.models.model import Model
from pi.base.records import replace
from pi.coding.compaction.compactor import Compactor
from pi.coding.compaction.options import CompactionOptions, unknown_strategy
from pi.coding.compaction.request import CompactionRequest
from pi.coding.extension_host.dormant import ExtensionContributions
from pi.coding.extension_host.events.session import SessionStartEvent
from pi.coding.retry import (
    Attempt,
    RetrySettings,
    SummarizationRetryAttemptStart,
    exceeds_delay_limit,
    with_retries,
)
from pi.coding.runtime.live import LiveSession
from pi.coding.runtime.models import ModelClient
from pi.coding.runtime.session.prompts import PromptRunner
from pi.coding.session.conversation import SessionConversation
from pi.coding.session.entries import Entry

if TYPE_CHECKING:
    from pi.agent.compaction.summarise import Ask, SummaryRequest
    from pi.coding.compaction.events import CompactionReason, CompactionResult
    from pi.coding.compaction.strategies import Strategy


LONG_DELAY_MS = 10_000
"""Longest retry delay while another model can be used for the summary."""


class Summaries:
    """Summary requests with the session's thinking level, credentials and retries.

    They are outside of the conversation; each kind has a cache identity of its own.
    """

    def __init__(self, core: LiveSession, client: ModelClient) -> None:
        self._core = core
        self._client = client

    def ask(
        self,
        model: Model,
        source: Literal["compaction", "branchSummary"],
        reason: str = "",
        *,
        is_last: bool = True,
    ) -> Ask:
        """Return a function that sends requests to ``model``.

        Retry events carry ``source`` and ``reason``. Unless it ``is_last``, another model is
        available, and long retry delays fail instead.
        """
        began = SummarizationRetryAttemptStart(source=source, reason=reason or UNSET)

        async def asked(request: SummaryRequest) -> AssistantMessage:
            options = replace(
                self._client.options(),
                reasoning=self._core.agent.thinking_level,
                max_tokens=request.max_tokens,
                session_id=f"{self._core.log.header.id}-{request.purpose}",
            )

            async def once() -> Attempt:
                answer = self._client.stream(model, request.context, options, purpose="summary")
                message = await answer.result()
                return Attempt(answer=message, failure=answer.failure)

            settings = retry_settings(self._core)
            if not is_last:
                longest = min(settings.max_agent_delay_ms, LONG_DELAY_MS)
                settings = replace(settings, max_agent_delay_ms=longest)
            attempt = await with_retries(
                once,
                settings,
                began=began,
                emit=self._core.agent.emit,
                clock=self._core.machine.clock,
            )
            if exceeds_delay_limit(attempt.failure, settings):
                # The caller would ask once more at once, as after a summary that cannot be used.
                why = attempt.answer.error_message or "rate limited"
                raise CompactionFailed("summary_failed", f"The summary failed: {why}")
            return attempt.answer

        return asked


def retry_settings(core: LiveSession) -> RetrySettings:
    """Return the current retry settings."""
    return core.workspace.settings.section(("retry",), RetrySettings)


class Strategies(Mapping[str, "Strategy"]):
    """Built-in strategies, and those of extensions, which take precedence."""

    def __init__(self, contributions: ExtensionContributions) -> None:
        self._contributions = contributions

    def __getitem__(self, name: str) -> Strategy:
        return self._contributions.strategies().get(name) or _own()[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**_own(), **self._contributions.strategies()})

    def __len__(self) -> int:
        return len(list(iter(self)))


@cache
def _own() -> Mapping[str, Strategy]:
    """Return the built-in strategies. Lazy: most sessions never compact."""
    from pi.coding.compaction.strategies import ShakeStrategy, SummaryStrategy

    return {"context-full": SummaryStrategy(), "shake": ShakeStrategy()}


class QueueHandOff(Protocol):
    """Queues the move to a new session that begins with a document."""

    async def __call__(self, document: str, /, *, go_on: bool) -> None:
        """Queue it for the end of the run."""
        ...


class LiveCompaction:
    """Implements ``CompactionSession`` for a live session."""

    def __init__(
        self,
        core: LiveSession,
        summaries: Summaries,
        hand_off: QueueHandOff,
    ) -> None:
        self._core = core
        self._summaries = summaries
        self.hand_off = hand_off
        self.agent = core.agent
        self.bus = core.bus
        self.agent = core.agent
        self.clock = core.machine.clock
        self.strategies = Strategies(core.extensions)
        self.add = core.append_entry
        self.emit = core.agent.emit

    def conversation(self) -> SessionConversation:
        """Return the current conversation."""
        return self._core.conversation

    def options(self) -> CompactionOptions:
        """Return the current settings."""
        return compaction_options(self._core)

    def fallbacks(self) -> Sequence[Model]:
        """Return the models to use when the session's own model returns no summary."""
        names = self.options().fallback_models
        resolved = (self._core.registry.resolve(name) for name in names)
        return [choice.model for choice in resolved if choice is not None]

    def ask(self, model: Model, reason: CompactionReason, *, is_last: bool) -> Ask:
        """Return the function that calls ``model``; ``is_last`` if no other model follows."""
        return self._summaries.ask(model, "compaction", reason, is_last=is_last)


class StrategyCheck:
    """Reports an unknown ``compaction.strategy``, once for each name."""

    def __init__(self, core: LiveSession) -> None:
        self._core = core
        self._reported = ""

    def check(self, event: SessionStartEvent) -> None:
        """Check the current setting; extensions must be loaded."""
        options, extensions = compaction_options(self._core), self._core.extensions
        problem = unknown_strategy(options, extensions.strategies())
        if problem and problem != self._reported:
            self._core.machine.report(f"Warning: {problem}")
        self._reported = problem


def compaction_options(core: LiveSession) -> CompactionOptions:
    """Return the current compaction settings."""
    return core.workspace.settings.section(("compaction",), CompactionOptions)


class CompactionControl:
    """Compaction for modes."""

    def __init__(self, core: LiveSession, compactor: Compactor, prompts: PromptRunner) -> None:
        self._core = core
        self._compactor = compactor
        self._prompts = prompts
        self.abort = compactor.abort

    @property
    def busy(self) -> bool:
        """Whether a compaction is running."""
        return self._compactor.busy

    @property
    def automatic(self) -> bool:
        """Whether automatic compaction is on."""
        return compaction_options(self._core).enabled

    async def compact(self, instructions: str = "") -> CompactionResult:
        """Compact now. Aborts the current run; prompts wait until it is done.

        Raises ``CompactionFailed`` if nothing could be compacted.
        """
        self._core.require_local("compact it")
        request = CompactionRequest(reason="manual", instructions=instructions)
        try:
            with self._prompts.gate.closed():
                self._core.agent.abort()
                await self._core.agent.wait_for_idle()
                return await self._compactor.compact(request)
        finally:
            await self._prompts.resume()

    def set_automatic(self, *, enabled: bool) -> None:
        """Turn automatic compaction on or off for this session."""
        self._core.workspace.settings.override({"compaction.enabled": enabled})

    def dropped(self) -> Sequence[Entry]:
        """Return the entries that compaction removed from the model's context."""
        from pi.coding.compaction.execution import dropped

        return dropped(self._core.log)

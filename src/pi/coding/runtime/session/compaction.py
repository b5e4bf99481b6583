"""Compaction as the person asks for it, and its settings."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import Context
from functools import cache
from typing import TYPE_CHECKING, Literal

from msgspec import UNSET

from pi.agent.agent import StreamFn
from pi.agent.compaction.errors import CompactionFailed
from pi.agent.events import AgentSettled, AgentStart
from pi.ai.messages import AssistantMessage
from pi.ai.models.model import Model
from pi.ai.request import StreamOptions
from pi.base.records import replace
from pi.coding.compaction.automatic import compact_when_idle
from pi.coding.compaction.compactor import Compactor
from pi.coding.compaction.events import CompactionResult
from pi.coding.compaction.options import CompactionOptions, unknown_strategy
from pi.coding.compaction.request import CompactionRequest, CompactionSession
from pi.coding.extension_host.dormant import ExtensionContributions
from pi.coding.extension_host.events.session import SessionStarted
from pi.coding.retry import (
    Attempt,
    RetrySettings,
    SummarizationRetryAttemptStart,
    exceeds_delay_limit,
    with_retries,
)
from pi.coding.runtime.live import LiveSession
from pi.coding.session.entries import Entry

if TYPE_CHECKING:
    from pi.agent.compaction.summarise import Ask, SummaryRequest
    from pi.coding.compaction.strategies import Strategy


# Asking models for summaries: with the session's own thinking, credentials and retries.


LONG_DELAY_MS = 10_000
"""A pause that nobody waits for while another model can be asked for the summary."""


class Summaries:
    """Requests beside the conversation; each kind has a cache identity of its own."""

    def __init__(
        self,
        core: LiveSession,
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
                once, settings, began=began, emit=self._core.tell, clock=self._core.host.clock
            )
            if exceeds_delay_limit(attempt.failure, settings):
                # The caller would ask once more at once, as after a summary that cannot be used.
                why = attempt.answer.error_message or "rate limited"
                raise CompactionFailed("summary_failed", f"The summary failed: {why}")
            return attempt.answer

        return asked


class Strategies(Mapping[str, "Strategy"]):
    """Those of pi, and those of extensions as they are now; these win."""

    def __init__(self, lender: ExtensionContributions) -> None:
        self._lender = lender

    def __getitem__(self, name: str) -> Strategy:
        return self._lender.strategies().get(name) or _own()[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**_own(), **self._lender.strategies()})

    def __len__(self) -> int:
        return len(list(iter(self)))


@cache
def _own() -> Mapping[str, Strategy]:
    """Loaded with the first compaction; most sessions have none."""
    from pi.coding.compaction.strategies import ShakeStrategy, SummaryStrategy

    return {"context-full": SummaryStrategy(), "shake": ShakeStrategy()}


def compaction_surroundings(
    core: LiveSession, summaries: Summaries, hand_off: Callable[[str], Awaitable[None]]
) -> CompactionSession:
    """What a compaction of this session works with."""
    return CompactionSession(
        conversation=lambda: core.conversation,
        add=core.kept,
        bus=core.bus,
        emit=core.tell,
        clock=core.host.clock,
        options=lambda: compaction_options(core),
        model=lambda: core.agent.model,
        fallbacks=lambda: _fallbacks(core),
        ask=lambda model, reason, is_last: summaries.ask(
            model, "compaction", reason, is_last=is_last
        ),
        hand_off=hand_off,
        strategies=Strategies(core.extensions),
    )


class StrategyCheck:
    """Reports a ``compaction.strategy`` that nobody has, once for each name."""

    def __init__(self, core: LiveSession) -> None:
        self._core = core
        self._reported = ""

    def check(self, event: SessionStarted) -> None:
        """Look at the strategy as it is set now; extensions must have been loaded."""
        options, extensions = compaction_options(self._core), self._core.extensions
        problem = unknown_strategy(options, extensions.strategies())
        if problem and problem != self._reported:
            self._core.host.report(f"Warning: {problem}")
        self._reported = problem


def compaction_options(core: LiveSession) -> CompactionOptions:
    """The settings of compaction, as they are now."""
    return core.workspace.settings.section(("compaction",), CompactionOptions)


def _fallbacks(core: LiveSession) -> Sequence[Model]:
    wanted = (core.registry.resolve(name) for name in compaction_options(core).fallback_models)
    return [choice.model for choice in wanted if choice is not None]


class CompactionControl:
    """What modes may do about compaction."""

    def __init__(
        self,
        core: LiveSession,
        compactor: Compactor,
        *,
        quiet: Callable[[], Awaitable[None]],
        resume: Callable[[], Awaitable[None]],
        holding_prompts: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._core = core
        self._compactor = compactor
        self._quiet = quiet
        self._resume = resume
        self._holding_prompts = holding_prompts

    @property
    def busy(self) -> bool:
        """Whether a compaction is under way."""
        return self._compactor.busy

    @property
    def automatic(self) -> bool:
        """Whether it happens by itself."""
        return compaction_options(self._core).enabled

    async def compact(self, instructions: str = "") -> CompactionResult:
        """Compact now; a run that is under way is ended first, and what is said meanwhile waits.

        ``CompactionFailed`` if in vain.
        """
        self._core.must_run_here("it cannot be compacted")
        wish = CompactionRequest(reason="manual", instructions=instructions)
        try:
            with self._holding_prompts():
                await self._quiet()
                return await self._compactor.compact(wish)
        finally:
            await self._resume()

    def abort(self) -> None:
        """End the compaction that is under way."""
        self._compactor.abort()

    def set_automatic(self, *, enabled: bool) -> None:
        """Say for this session whether it happens by itself."""
        self._core.workspace.settings.override({"compaction.enabled": enabled})

    def dropped(self) -> Sequence[Entry]:
        """What the model is no longer shown."""
        from pi.coding.compaction.execution import dropped

        return dropped(self._core.log)


# Compaction while the session rests.


class IdleCompaction:
    """Begins to wait when the agent settles, and stops when it starts again."""

    def __init__(self, core: LiveSession, compactor: Compactor, around: CompactionSession) -> None:
        self._core = core
        self._compactor = compactor
        self._around = around
        self._waiting: asyncio.Task[bool] | None = None

    def hear(self, event: object) -> None:
        """Follow what the agent tells."""
        if isinstance(event, AgentStart):
            self._stop()
        elif isinstance(event, AgentSettled) and self._around.options().idle_enabled:
            self._stop()
            work = compact_when_idle(self._compactor, self._around, busy=self._busy)
            self._waiting = asyncio.get_running_loop().create_task(
                work, name="idle compaction", context=Context()
            )

    async def close(self) -> None:
        """Wait no more."""
        waiting = self._waiting
        self._stop()
        if waiting is not None:
            await asyncio.wait({waiting})

    def _busy(self) -> bool:
        """Whether something in the background still works."""
        running = self._core.workspace.commands.running
        return bool(running) or self._core.busy or self._core.elsewhere is not None

    def _stop(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

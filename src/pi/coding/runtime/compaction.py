"""Compaction as the person asks for it, and its settings."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache
from typing import TYPE_CHECKING

from pi.ai.models.model import Model
from pi.coding.compaction.compactor import Compactor
from pi.coding.compaction.events import CompactionResult
from pi.coding.compaction.options import CompactionOptions, unknown_strategy
from pi.coding.compaction.surroundings import Surroundings, Wish
from pi.coding.runtime.core import Core
from pi.coding.runtime.events import SessionStarted
from pi.coding.runtime.lending import Lender
from pi.coding.runtime.summaries import Summaries
from pi.coding.session.entries import Entry

if TYPE_CHECKING:
    from pi.coding.compaction.strategies.strategy import Strategy


class Strategies(Mapping[str, "Strategy"]):
    """Those of pi, and those of extensions as they are now; these win."""

    def __init__(self, lender: Lender) -> None:
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
    from pi.coding.compaction.strategies.shake import ShakeStrategy
    from pi.coding.compaction.strategies.summary import SummaryStrategy

    return {"context-full": SummaryStrategy(), "shake": ShakeStrategy()}


def compaction_surroundings(
    core: Core, summaries: Summaries, hand_off: Callable[[str], Awaitable[None]]
) -> Surroundings:
    """What a compaction of this session works with."""
    return Surroundings(
        conversation=lambda: core.conversation,
        add=core.kept,
        bus=core.bus,
        tell=core.tell,
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

    def __init__(self, core: Core) -> None:
        self._core = core
        self._reported = ""

    def check(self, event: SessionStarted) -> None:
        """Look at the strategy as it is set now; extensions must have been loaded."""
        options, extensions = compaction_options(self._core), self._core.extensions
        problem = unknown_strategy(options, extensions.strategies())
        if problem and problem != self._reported:
            self._core.host.report(f"Warning: {problem}")
        self._reported = problem


def compaction_options(core: Core) -> CompactionOptions:
    """The settings of compaction, as they are now."""
    return core.workspace.settings.section(("compaction",), CompactionOptions)


def _fallbacks(core: Core) -> Sequence[Model]:
    wanted = (core.registry.resolve(name) for name in compaction_options(core).fallback_models)
    return [choice.model for choice in wanted if choice is not None]


class Compacting:
    """What modes may do about compaction."""

    def __init__(
        self,
        core: Core,
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
        wish = Wish(reason="manual", instructions=instructions)
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
        from pi.coding.compaction.inspecting import dropped

        return dropped(self._core.log)

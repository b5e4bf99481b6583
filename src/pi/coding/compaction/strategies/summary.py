"""``context-full``: what is old becomes notes by a model, and a carry-over that always survives."""

from __future__ import annotations

import msgspec

from pi.agent.compaction.compact import compact
from pi.agent.compaction.errors import CompactionFailed
from pi.coding.compaction.events import CompactionResult
from pi.coding.compaction.strategies.strategy import Declined, Outcome, Work

GIVES_UP = ("aborted", "nothing_to_compact")
"""Failures that another model would not mend."""


class SummaryStrategy:
    """Asks the session's own model, then those that are configured as a fallback."""

    async def compact(self, work: Work) -> Outcome:
        """A summary of the first model that gives one worth keeping."""
        if work.preparation is None:
            return Declined(why=work.why_not)
        problems: list[CompactionFailed] = []
        for model in work.models:
            try:
                result = await compact(work.preparation, work.ask(model), work.options, model=model)
            except CompactionFailed as problem:
                if problem.code in GIVES_UP:
                    raise
                problems.append(problem)
            else:
                return CompactionResult(
                    summary=result.summary,
                    first_kept_id=result.first_kept_id,
                    tokens_before=result.tokens_before,
                    usage=result.usage,
                    details=msgspec.to_builtins(result.details),
                )
        return Declined(why=problems[0].message if problems else "There is no model to ask.")

"""``shake``: the largest old tool results are shown as a note; nothing is summarised. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from pi.agent.compaction.items import Item
from pi.ai.messages import ToolResultMessage
from pi.coding.compaction.pruning import edit, protected, saved
from pi.coding.compaction.strategies.strategy import Declined, Edits, Outcome, Work

PROTECTED_TOKENS = 40_000
"""The newest part of the conversation, which stays as it is."""
GOAL = 0.6
"""Part of the threshold below which the conversation should come."""


def notice(item: Item) -> str:
    """What is shown in place of a result: how to find it again."""
    return f"[Output of {item.tokens} tokens left out - it is in session entry {item.id}]"


class ShakeStrategy:
    """Needs no model, and so works offline and when the conversation fits nobody any more."""

    async def compact(self, work: Work) -> Outcome:
        """Edits of the largest results, as few as it takes."""
        wanted = work.tokens - int(GOAL * work.threshold)
        chosen: list[Item] = []
        gained = 0
        for item in sorted(_candidates(work.items), key=lambda item: -saved(item, notice(item))):
            if gained >= wanted:
                break
            chosen.append(item)
            gained += saved(item, notice(item))
        if not chosen:
            return Declined(why="There is no large tool result outside the newest part.")
        return Edits(edits=tuple(edit(item, notice(item)) for item in chosen), tokens_saved=gained)


def _candidates(items: Sequence[Item]) -> list[Item]:
    """Tool results that are old enough, worth the trouble and not protected."""
    found: list[Item] = []
    stays, newer = protected(items), 0
    for item in reversed(items):
        old = newer >= PROTECTED_TOKENS
        newer += item.tokens
        worth = isinstance(item.message, ToolResultMessage) and saved(item, notice(item)) > 0
        if old and worth and item.id not in stays:
            found.append(item)
    return found

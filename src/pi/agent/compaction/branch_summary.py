"""Notes on a branch that the person leaves, for the branch they go to."""

from __future__ import annotations

from collections.abc import Sequence

from pi.agent.compaction.errors import CompactionFailed
from pi.agent.compaction.file_operations import FileLists, file_blocks, file_operations
from pi.agent.compaction.items import Item
from pi.agent.compaction.prompts import Guidance
from pi.agent.compaction.serialisation import newest, serialise
from pi.agent.compaction.settings import CompactionSettings
from pi.agent.compaction.summarising import Ask, Summariser
from pi.ai.messages import Usage
from pi.ai.models.model import Model
from pi.base.records import Record

PREAMBLE = """\
The user explored a different conversation branch before returning here.
Summary of that exploration:

"""
MOST_OF_FILES = 4000
"""Characters of the file lists."""


class BranchSummary(Record):
    """A finished summary of a branch."""

    summary: str
    details: FileLists
    usage: Usage


def abandoned(old: Sequence[Item], new: Sequence[Item]) -> tuple[Item, ...]:
    """The items of the ``old`` path, from its root to its leaf, that the ``new`` one lacks."""
    shared = {item.id for item in new}
    return tuple(item for item in old if item.id not in shared)


async def summarise_branch(
    items: Sequence[Item],
    ask: Ask,
    settings: CompactionSettings,
    *,
    model: Model,
    guidance: Guidance | None = None,
) -> BranchSummary:
    """Notes on ``items``, the newest that fit into one request, or raise ``CompactionFailed``."""
    guidance = guidance or Guidance()
    summariser = Summariser(ask, model, settings, "branch_summary")
    texts = serialise(items)
    if not texts:
        raise CompactionFailed("nothing_to_compact", "There is nothing to summarise here.")
    fitting = newest(texts, summariser.room("branch", guidance))
    notes = await summariser.notes(fitting, "branch", guidance=guidance)
    files = file_operations(items)
    blocks = file_blocks(files, MOST_OF_FILES)
    return BranchSummary(
        summary=PREAMBLE + "\n\n".join(filter(None, (notes, blocks))),
        details=files,
        usage=summariser.usage,
    )

"""Compaction while nobody does anything: after a while, if much has gathered."""

from __future__ import annotations

import logging
from collections.abc import Callable

from pi.agent.compaction.errors import CompactionFailed
from pi.coding.compaction.compactor import Compactor
from pi.coding.compaction.measuring import tokens_in_use
from pi.coding.compaction.surroundings import Surroundings, Wish

log = logging.getLogger(__name__)


async def compact_when_idle(
    compactor: Compactor, around: Surroundings, *, busy: Callable[[], bool]
) -> bool:
    """Wait, and compact if it is wanted and due; whether it was done.

    Its caller starts it when the agent settles and cancels it at the next prompt. ``busy`` says
    whether something in the background still works: then it is put off for another while.
    """
    options = around.options().for_model(around.model())
    if not (options.automatic and options.idle_enabled):
        return False
    await around.clock.sleep(options.idle_timeout_seconds)
    while busy() or compactor.busy:
        await around.clock.sleep(options.idle_timeout_seconds)
    if tokens_in_use(around.conversation()) <= options.idle_threshold_tokens:
        return False
    try:
        await compactor.compact(Wish(reason="idle"))
    except CompactionFailed as problem:
        log.warning("the idle compaction came to nothing: %s", problem.message)
        return False
    return True

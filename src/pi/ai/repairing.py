"""Asking again at once without what a server refused, where it would refuse it on every turn."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from pi.ai.builder import MessageBuilder
from pi.ai.diagnostics import NO_REPAIRS, Repairs, repair_note
from pi.ai.errors import BadRequest
from pi.ai.exchange import agreed_payload
from pi.ai.messages import Json
from pi.ai.request import Call
from pi.base.clock import Clock

MOST_TOOLS = 3
"""Tools that are given up, one after the other, before the refusal counts."""


async def ask_with_repairs(
    call: Call,
    builder: MessageBuilder,
    clock: Clock,
    *,
    encode: Callable[[Repairs], Json],
    deliver: Callable[[Json], Awaitable[None]],
    next_repair: Callable[[BadRequest, Json], Repairs | None],
) -> None:
    """Encode and deliver until an answer comes; every repair is noted in the answer's message.

    ``next_repair`` says what a refused payload must go without. The refusal is raised where that is
    nothing, where it was tried already, and where a part of an answer has come.
    """
    repairs = NO_REPAIRS
    while True:
        payload = await agreed_payload(call, encode(repairs))
        try:
            await deliver(payload)
            return
        except BadRequest as refusal:
            repair = next_repair(refusal, payload) or NO_REPAIRS
            repaired = repairs | repair
            if repaired == repairs or len(repaired.tools) > MOST_TOOLS or not builder.empty:
                raise
            repairs = repaired
            builder.diagnostics.append(repair_note(repair, refusal, clock.now_ms()))

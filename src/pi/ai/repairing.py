"""Asking again at once without what a server refused, where it would refuse it on every turn."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from pi.ai.builder import MessageBuilder
from pi.ai.diagnostics import repair_note
from pi.ai.errors import BadRequest
from pi.ai.exchange import agreed_payload
from pi.ai.messages import Json
from pi.ai.request import Call
from pi.base.clock import Clock

R = TypeVar("R")


async def ask_with_repairs(
    call: Call,
    builder: MessageBuilder,
    clock: Clock,
    *,
    repairs: R,
    encode: Callable[[R], Json],
    deliver: Callable[[Json], Awaitable[None]],
    next_repair: Callable[[BadRequest, Json, R], tuple[str, R] | None],
) -> None:
    """Encode and deliver until an answer comes; ``repairs`` are those to begin with.

    ``next_repair`` says for a refused payload what to note and which repairs to make from then on;
    at ``None`` the refusal is raised, and so it is once there is a part of an answer.
    """
    while True:
        payload = await agreed_payload(call, encode(repairs))
        try:
            await deliver(payload)
            return
        except BadRequest as refusal:
            repair = next_repair(refusal, payload, repairs)
            if repair is None or not builder.empty:
                raise
            kind, repairs = repair
            builder.diagnostics.append(repair_note(kind, refusal, clock.now_ms()))

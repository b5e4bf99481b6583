"""Anthropic's Messages API, also as others serve it.

``compat`` holds the quirks of servers; ``request`` puts the body together from ``history``,
``tools`` and ``thinking``; ``response`` decodes; ``repairs`` says what to change after a refusal
that would otherwise come back on every later turn.
"""

from __future__ import annotations

from functools import partial

from pi.ai.builder import MessageBuilder
from pi.ai.messages import Json
from pi.ai.request import Call
from pi.ai.stream import Flush
from pi.ai.wire.anthropic_messages.compat import (
    compat_of,
    interleaves,
    plan_thinking,
    provider_level,
)
from pi.ai.wire.anthropic_messages.request import encode, headers, next_repair, url
from pi.ai.wire_support.exchange import Decoder, Services, send
from pi.ai.wire_support.repairs import send_with_repairs


async def answer(call: Call, builder: MessageBuilder, flush: Flush, services: Services) -> None:
    """Ask, and fill ``builder`` until its message is final.

    A refused signature or tool schema is left out and the question asked again at once. A
    diagnostic of the message says so, and later turns do without the same thoughts and strictness.
    """
    compat = compat_of(call)
    if (level := provider_level(plan_thinking(call, compat), compat)) is not None:
        builder.thinking_level = level

    def decoder() -> Decoder:
        from pi.ai.wire.anthropic_messages.response import MessagesDecoder

        return MessagesDecoder(builder)

    async def deliver(payload: Json) -> None:
        await send(
            call,
            {name: value for name, value in payload.items() if name != "betas"},
            url=url(call),
            headers=headers(call, payload.get("betas", ())),
            decoder=decoder,
            builder=builder,
            flush=flush,
            services=services,
        )

    await send_with_repairs(
        call,
        builder,
        services.clock,
        encode=partial(encode, call, interleaved=interleaves(services.environ)),
        deliver=deliver,
        next_repair=next_repair,
    )

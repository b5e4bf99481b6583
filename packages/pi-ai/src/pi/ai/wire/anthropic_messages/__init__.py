"""Anthropic's Messages API, also as other servers offer it.

``compat`` holds the quirks of servers; ``request`` builds the body with ``history``, ``tools`` and
``thinking``; ``repairs`` selects the repair after a rejection that would otherwise recur on every
later turn; ``response`` decodes.
"""

from __future__ import annotations

from functools import partial

from pi.ai.builder import MessageBuilder
from pi.ai.event_stream import Flush
from pi.ai.messages import Json
from pi.ai.request import Call
from pi.ai.wire.anthropic_messages.compat import compat_of
from pi.ai.wire.anthropic_messages.repairs import next_repair
from pi.ai.wire.anthropic_messages.request import encode, headers, url
from pi.ai.wire.anthropic_messages.thinking import interleaves, plan_thinking, provider_level
from pi.ai.wire_support.exchange import Decoder, Services, send
from pi.ai.wire_support.repairs import send_with_repairs


async def answer(call: Call, builder: MessageBuilder, flush: Flush, services: Services) -> None:
    """Send the request, and fill ``builder`` until its message is final.

    A rejected signature or tool schema is left out and the request sent again at once. A diagnostic
    of the message records it, and later turns leave out the same thinking and strictness.
    """
    compat = compat_of(call)
    if (level := provider_level(plan_thinking(call, compat), compat)) is not None:
        builder.thinking_level = level

    def decoder() -> Decoder:
        # Lazy: loaded while the server answers.
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

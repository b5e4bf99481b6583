"""OpenAI Chat Completions, as OpenAI and all compatible servers implement it.

The quirks of servers arrive as flags of the model (``compat``); nothing else here names a server.
Does not know other wires.
"""

from __future__ import annotations

from functools import partial

from pi.ai.builder import MessageBuilder
from pi.ai.event_stream import Flush
from pi.ai.messages import Json
from pi.ai.request import Call
from pi.ai.wire.openai_completions.compat import compat_of
from pi.ai.wire.openai_completions.request import (
    encode,
    free_text_inputs,
    headers,
    next_repair,
    url,
)
from pi.ai.wire_support.exchange import Decoder, Services, send
from pi.ai.wire_support.repairs import send_with_repairs


async def answer(call: Call, builder: MessageBuilder, flush: Flush, services: Services) -> None:
    """Send the request, and fill ``builder`` with the response; raises ``ProviderError``.

    Rejected thinking or strict tool schemas are left out and the request sent again at once. A
    diagnostic of the message records it, and later turns leave them out.
    """
    compat = compat_of(call)

    def decoder() -> Decoder:
        # Lazy: loaded while the server answers.
        from pi.ai.wire.openai_completions.response import ChatDecoder

        return ChatDecoder(call, builder, free_text_inputs(call, compat))

    async def deliver(payload: Json) -> None:
        await send(
            call,
            payload,
            url=url(call),
            headers=headers(call, compat),
            decoder=decoder,
            builder=builder,
            flush=flush,
            services=services,
        )

    await send_with_repairs(
        call,
        builder,
        services.clock,
        encode=partial(encode, call, compat=compat),
        deliver=deliver,
        next_repair=next_repair,
    )

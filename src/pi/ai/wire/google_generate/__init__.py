"""Google's generateContent: the Gemini API and Vertex AI.

Knows the shape of their requests and events; who serves a model and which credentials a person has
stored is decided elsewhere, what Google's own tools have stored is found here.
"""

from __future__ import annotations

from functools import partial

from pi.ai.builder import MessageBuilder
from pi.ai.messages import Json
from pi.ai.request import Call
from pi.ai.stream import Flush
from pi.ai.transcript import fold
from pi.ai.wire.google_generate.request import encode, headers, next_repair, rest_body, url
from pi.ai.wire.google_generate.vertex import with_ambient_token
from pi.ai.wire_support.exchange import Decoder, Services, send
from pi.ai.wire_support.repairs import send_with_repairs
from pi.base.records import replace


async def answer(call: Call, builder: MessageBuilder, flush: Flush, services: Services) -> None:
    """Ask, and fill ``builder`` with the answer; raises ``ProviderError``.

    Refused signatures are left out and the question asked again at once. A diagnostic of the
    message says so, and later turns do without them.
    """
    instructions, _ = fold(call.messages, keep_later=False)

    def decoder() -> Decoder:
        from pi.ai.wire.google_generate.response import GenerateDecoder

        return GenerateDecoder(builder, instructions.tools)

    async def deliver(payload: Json) -> None:
        authorized = await with_ambient_token(call, services)
        # The model is part of the URL, so a hook that replaced it there must be heard here.
        model = replace(call.model, id=payload.get("model") or call.model.id)
        await send(
            authorized,
            rest_body(payload),
            url=url(replace(authorized, model=model)),
            headers=headers(authorized),
            decoder=decoder,
            builder=builder,
            flush=flush,
            services=services,
        )

    await send_with_repairs(
        call,
        builder,
        services.clock,
        encode=partial(encode, call),
        deliver=deliver,
        next_repair=next_repair,
    )

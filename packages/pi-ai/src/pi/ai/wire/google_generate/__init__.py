"""Google's generateContent: the Gemini API and Vertex AI.

Knows the format of their requests and events. Stored credentials are resolved by ``pi.ai.auth``;
those of Google's own tools are found here.
"""

from __future__ import annotations

from functools import partial

from pi.ai.builder import MessageBuilder
from pi.ai.event_stream import Flush
from pi.ai.messages import Json
from pi.ai.request import Call
from pi.ai.transcript import fold
from pi.ai.wire.google_generate.repairs import next_repair
from pi.ai.wire.google_generate.request import encode
from pi.ai.wire.google_generate.rest import headers, rest_body, url, with_ambient_token
from pi.ai.wire_support.exchange import Decoder, Services, send
from pi.ai.wire_support.repairs import send_with_repairs
from pi.base.records import replace


async def answer(call: Call, builder: MessageBuilder, flush: Flush, services: Services) -> None:
    """Send the request, and fill ``builder`` with the response; raises ``ProviderError``.

    Rejected signatures are left out and the request sent again at once. A diagnostic of the message
    records it, and later turns leave them out.
    """
    instructions, _ = fold(call.messages, keep_later=False)

    def decoder() -> Decoder:
        # Lazy: loaded while the server answers.
        from pi.ai.wire.google_generate.response import GenerateDecoder

        return GenerateDecoder(builder, instructions.tools)

    async def deliver(payload: Json) -> None:
        authorized = await with_ambient_token(call, services)
        # The model is part of the URL, so a model that a hook replaced in the payload is applied
        # here.
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

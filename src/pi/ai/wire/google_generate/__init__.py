"""Google's generateContent: the Gemini API and Vertex AI.

Knows the shape of their requests and events; who serves a model and which credentials a person has
stored is decided elsewhere, what Google's own tools have stored is found here.
"""

from __future__ import annotations

from pi.ai.builder import MessageBuilder
from pi.ai.exchange import Services, agreed_payload, send
from pi.ai.request import Call
from pi.ai.stream import Flush
from pi.ai.transcript import fold
from pi.ai.wire.google_generate.ambient_token import with_ambient_token
from pi.ai.wire.google_generate.request import encode, headers, rest_body, url
from pi.ai.wire.google_generate.response import GenerateDecoder
from pi.base.records import replace


async def answer(call: Call, builder: MessageBuilder, flush: Flush, services: Services) -> None:
    """Ask, and fill ``builder`` with the answer; raises ``ProviderError``."""
    payload = await agreed_payload(call, encode(call))
    instructions, _ = fold(call.messages, keep_later=False)
    call = await with_ambient_token(call, services)
    # The model is part of the URL, so a hook that replaced it there must be heard here.
    asked = replace(call, model=replace(call.model, id=payload.get("model") or call.model.id))
    await send(
        call,
        rest_body(payload),
        url=url(asked),
        headers=headers(call),
        decoder=GenerateDecoder(builder, instructions.tools),
        builder=builder,
        flush=flush,
        services=services,
    )

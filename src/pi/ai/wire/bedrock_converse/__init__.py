"""Amazon Bedrock's ConverseStream: many makers' models behind one form.

Knows that form, AWS's signatures and its frames; which credentials a person has stored is decided
elsewhere, what AWS's own tools have stored is found here.
"""

from __future__ import annotations

from functools import partial

from pi.ai.builder import MessageBuilder
from pi.ai.messages import Json
from pi.ai.request import Call
from pi.ai.stream import Flush
from pi.ai.wire.bedrock_converse.request import encode, next_repair, rest
from pi.ai.wire.bedrock_converse.response import ConverseDecoder, EventStreamReader
from pi.ai.wire.bedrock_converse.signing import find_identity
from pi.ai.wire_support.exchange import Services, send
from pi.ai.wire_support.repairs import send_with_repairs


async def answer(call: Call, builder: MessageBuilder, flush: Flush, services: Services) -> None:
    """Ask, and fill ``builder`` with the answer; raises ``ProviderError``.

    A refused signature or strict schema is left out and the question asked again at once. A
    diagnostic of the message says so, and later turns do without the same thoughts and strictness.
    """
    identity = await find_identity(call, services.environ)

    async def deliver(payload: Json) -> None:
        request = rest(call, payload, identity, services.clock.now_ms())
        await send(
            call,
            request.body,
            url=request.url,
            headers=request.headers,
            decoder=lambda: ConverseDecoder(builder),
            builder=builder,
            flush=flush,
            services=services,
            frames=EventStreamReader(),
        )

    await send_with_repairs(
        call,
        builder,
        services.clock,
        encode=partial(encode, call),
        deliver=deliver,
        next_repair=next_repair,
    )

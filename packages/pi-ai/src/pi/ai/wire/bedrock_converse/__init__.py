"""Amazon Bedrock's ConverseStream: models of many vendors behind one format.

Implements that format, AWS's signatures and its frames. Stored credentials are resolved by
``pi.ai.auth``; those of AWS's own tools are found here.
"""

from __future__ import annotations

from functools import partial

from pi.ai.builder import MessageBuilder
from pi.ai.event_stream import Flush
from pi.ai.messages import Json
from pi.ai.request import Call
from pi.ai.wire.bedrock_converse.event_stream import EventStreamReader
from pi.ai.wire.bedrock_converse.identity import find_identity
from pi.ai.wire.bedrock_converse.repairs import next_repair
from pi.ai.wire.bedrock_converse.request import encode
from pi.ai.wire.bedrock_converse.response import ConverseDecoder
from pi.ai.wire.bedrock_converse.rest import rest_request
from pi.ai.wire_support.exchange import Services, send
from pi.ai.wire_support.repairs import send_with_repairs


async def answer(call: Call, builder: MessageBuilder, flush: Flush, services: Services) -> None:
    """Send the request, and fill ``builder`` with the response; raises ``ProviderError``.

    A rejected signature or strict schema is left out and the request sent again at once. A
    diagnostic of the message records it, and later turns leave out the same thinking and
    strictness.
    """
    identity = await find_identity(call, services.environ)

    async def deliver(payload: Json) -> None:
        request = rest_request(call, payload, identity, services.clock.now_ms())
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

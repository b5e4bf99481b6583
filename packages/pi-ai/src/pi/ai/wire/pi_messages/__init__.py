"""pi's own events over HTTP: client and server of a proxy for model requests.

``request`` and ``response`` are the client, ``server`` the other end. The program around ``server``
chooses the model.
"""

from __future__ import annotations

from pi.ai.builder import MessageBuilder
from pi.ai.event_stream import Flush
from pi.ai.request import Call
from pi.ai.wire.pi_messages.request import encode, headers, url
from pi.ai.wire.pi_messages.response import EventDecoder
from pi.ai.wire_support.exchange import Services, apply_payload_hook, send


async def answer(call: Call, builder: MessageBuilder, flush: Flush, services: Services) -> None:
    """Send the request, and fill ``builder`` with the response; raises ``ProviderError``."""
    payload = await apply_payload_hook(call, encode(call))
    await send(
        call,
        payload,
        url=url(call),
        headers=headers(call),
        decoder=lambda: EventDecoder(builder, services.clock),
        builder=builder,
        flush=flush,
        services=services,
    )

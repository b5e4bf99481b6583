"""Mistral's chat completions.

``request`` encodes; ``response`` decodes the chunks. Services with a similar protocol do not use
this wire.
"""

from __future__ import annotations

from pi.ai.builder import MessageBuilder
from pi.ai.event_stream import Flush
from pi.ai.request import Call
from pi.ai.wire.mistral_conversations.request import encode, headers, rest_body, url
from pi.ai.wire.mistral_conversations.response import CompletionDecoder
from pi.ai.wire_support.exchange import Services, apply_payload_hook, send


async def answer(call: Call, builder: MessageBuilder, flush: Flush, services: Services) -> None:
    """Send the request, and fill ``builder`` with the response; raises ``ProviderError``."""
    payload = await apply_payload_hook(call, encode(call))
    await send(
        call,
        rest_body(payload),
        url=url(call),
        headers=headers(call),
        decoder=lambda: CompletionDecoder(builder),
        builder=builder,
        flush=flush,
        services=services,
    )

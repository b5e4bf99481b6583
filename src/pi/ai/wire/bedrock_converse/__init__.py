"""Amazon Bedrock's ConverseStream: many makers' models behind one form.

Knows that form, AWS's signatures and its frames; which credentials a person has stored is decided
elsewhere, what AWS's own tools have stored is found here.
"""

from __future__ import annotations

from pi.ai.builder import MessageBuilder
from pi.ai.diagnostics import repair_note
from pi.ai.errors import BadRequest
from pi.ai.exchange import Services, agreed_payload, send
from pi.ai.request import Call
from pi.ai.stream import Flush
from pi.ai.wire.bedrock_converse.credentials import find_identity
from pi.ai.wire.bedrock_converse.event_stream import EventStreamReader
from pi.ai.wire.bedrock_converse.repairs import next_repair
from pi.ai.wire.bedrock_converse.request import encode
from pi.ai.wire.bedrock_converse.response import ConverseDecoder
from pi.ai.wire.bedrock_converse.rest import RestRequest, rest


async def answer(call: Call, builder: MessageBuilder, flush: Flush, services: Services) -> None:
    """Ask, and fill ``builder`` with the answer; raises ``ProviderError``.

    A refused signature or strict schema is left out and the question asked again at once. A
    diagnostic of the message says so, that the session may leave it out from the start next time.
    """
    payload = await agreed_payload(call, encode(call))
    identity = await find_identity(call, services.environ)
    while True:
        request = rest(call, payload, identity, services.clock.now_ms())
        try:
            await _ask(call, request, builder, flush, services)
            return
        except BadRequest as refusal:
            repair = next_repair(refusal, payload)
            if repair is None:
                raise
            kind, payload = repair
            builder.diagnostics.append(repair_note(kind, refusal, services.clock.now_ms()))


async def _ask(
    call: Call, request: RestRequest, builder: MessageBuilder, flush: Flush, services: Services
) -> None:
    await send(
        call,
        request.body,
        url=request.url,
        headers=request.headers,
        decoder=ConverseDecoder(builder),
        builder=builder,
        flush=flush,
        services=services,
        frames=EventStreamReader(),
    )

"""OpenAI Chat Completions, as OpenAI and everybody who followed it speaks it.

The quirks of servers arrive as flags of the model (``compat``); nothing else here names one. Must
not know other wires.
"""

from __future__ import annotations

from pi.ai.builder import MessageBuilder
from pi.ai.errors import BadRequest
from pi.ai.exchange import Services, agreed_payload, send
from pi.ai.messages import Json
from pi.ai.request import Call
from pi.ai.stream import Flush
from pi.ai.wire.openai_completions.request import encode, free_text_inputs, headers, url
from pi.ai.wire.openai_completions.response import ChatDecoder
from pi.ai.wire.openai_completions.tools import without_strict


async def answer(call: Call, builder: MessageBuilder, flush: Flush, services: Services) -> None:
    """Ask, and fill ``builder`` with the answer.

    A server that refuses strict tool schemas is asked once more without them. Raises
    ``ProviderError``.
    """
    payload = await agreed_payload(call, encode(call))
    try:
        await _ask(call, payload, builder, flush, services)
    except BadRequest:
        loose = without_strict(payload)
        if loose is None or not builder.empty:
            raise
        await _ask(call, loose, builder, flush, services)


async def _ask(
    call: Call, payload: Json, builder: MessageBuilder, flush: Flush, services: Services
) -> None:
    await send(
        call,
        payload,
        url=url(call),
        headers=headers(call),
        decoder=ChatDecoder(call, builder, free_text_inputs(call)),
        builder=builder,
        flush=flush,
        services=services,
    )

"""OpenAI's Responses API: OpenAI and gateways, Azure OpenAI, and the ChatGPT (Codex) backend.

``request`` builds the body from ``input_items`` and ``tools``; ``response`` decodes events into
what ``output_items`` makes of them; ``repairs`` says what to leave out after a refusal. ``azure``
and ``codex`` hold what is different there. Must not know providers, credentials or sessions.
"""

from __future__ import annotations

from functools import partial

from pi.ai.builder import MessageBuilder
from pi.ai.exchange import Services
from pi.ai.request import Call
from pi.ai.stream import Flush
from pi.ai.wire.openai_responses import azure, codex
from pi.ai.wire.openai_responses.asking import Asking
from pi.ai.wire.openai_responses.request import encode, headers, url


async def answer(call: Call, builder: MessageBuilder, flush: Flush, services: Services) -> None:
    """Ask in the variant that the model speaks, and fill ``builder`` until its message is final."""
    match call.model.api:
        case "azure-openai-responses":
            await azure.answer(call, builder, flush, services)
        case "openai-codex-responses":
            await codex.answer(call, builder, flush, services)
        case _:
            asking = Asking(call, builder, flush, services)
            await asking.ask(
                encode=partial(encode, call),
                deliver=partial(asking.post, url=url(call), headers=headers(call)),
            )

"""OpenAI's Responses API: OpenAI and gateways, Azure OpenAI, and the ChatGPT (Codex) backend.

``request`` builds the body from ``input_items`` and ``tools``; ``repairs`` selects what is left out
after a rejection; ``response`` decodes events. ``azure`` and ``codex`` are the variants;
``chaining`` continues responses that the server has. Independent of providers, credentials and
sessions.
"""

from __future__ import annotations

from functools import partial

from pi.ai.builder import MessageBuilder
from pi.ai.event_stream import Flush
from pi.ai.messages import Json
from pi.ai.request import Call
from pi.ai.wire.openai_responses import azure, codex
from pi.ai.wire.openai_responses.chaining import is_stateful, stored_responses
from pi.ai.wire.openai_responses.compat import read_compat
from pi.ai.wire.openai_responses.request import answer_items, encode, headers, url
from pi.ai.wire.openai_responses.responses_call import ResponsesCall
from pi.ai.wire_support.chaining import Conversation
from pi.ai.wire_support.exchange import Services
from pi.ai.wire_support.repairs import Repairs


async def answer(call: Call, builder: MessageBuilder, flush: Flush, services: Services) -> None:
    """Send the request in the model's variant, and fill ``builder`` until its message is final."""
    if call.options.compact:
        from pi.ai.wire.openai_responses.compact import compact  # lazy: few sessions use it

        await compact(call, builder, services)
        return
    match call.model.api:
        case "azure-openai-responses":
            await azure.answer(call, builder, flush, services)
        case "openai-codex-responses":
            await codex.answer(call, builder, flush, services)
        case _ if is_stateful(call, services.environ):
            await _answer_stored(ResponsesCall(call, builder, flush, services))
        case _:
            responses_call = ResponsesCall(call, builder, flush, services)
            await responses_call.ask(
                encode=partial(encode, call),
                deliver=partial(responses_call.post, url=url(call), headers=headers(call)),
            )


async def _answer_stored(responses_call: ResponsesCall) -> None:
    """Have the response stored, and continue the previous one if the server has it."""
    call = responses_call.call
    stored = stored_responses(responses_call.services)
    conversation = Conversation(
        url=url(call), account=call.access.api_key or "", session=call.cached_session or ""
    )
    post = partial(responses_call.post, url=url(call), headers=headers(call))

    def encode_stored(repairs: Repairs) -> Json:
        store = stored.can_store(conversation)
        return {**encode(call, repairs), "store": store, **call.sampling}

    def read_response() -> tuple[list[Json], str]:
        items = answer_items(call, read_compat(call.model), responses_call.builder.message())
        return items, responses_call.builder.response_id or ""

    async def deliver(payload: Json) -> None:
        if payload.get("store") is True:  # an extension may have changed it
            await stored.deliver(conversation, payload, post, read_response)
        else:
            await post(payload)

    await responses_call.ask(encode=encode_stored, deliver=deliver)

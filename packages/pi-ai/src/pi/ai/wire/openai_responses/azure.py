"""Azure OpenAI variant of Responses: deployments instead of models, and the resource's own URL."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from pi.ai.builder import MessageBuilder
from pi.ai.event_stream import Flush
from pi.ai.http.user_agent import user_agent
from pi.ai.messages import Json
from pi.ai.request import Call
from pi.ai.wire.openai_responses.compat import Compat, read_compat
from pi.ai.wire.openai_responses.request import encode_body
from pi.ai.wire.openai_responses.responses_call import ResponsesCall
from pi.ai.wire_support.azure import deployment, endpoint
from pi.ai.wire_support.exchange import Services
from pi.ai.wire_support.repairs import NO_REPAIRS, Repairs
from pi.base.records import replace


async def answer(call: Call, builder: MessageBuilder, flush: Flush, services: Services) -> None:
    """Send the request, and fill ``builder`` until its message is final."""
    responses_call = ResponsesCall(call, builder, flush, services)
    environ = services.environ
    await responses_call.ask(
        encode=partial(encode, call, environ),
        deliver=partial(responses_call.post, url=url(call, environ), headers=headers(call)),
    )


def encode(call: Call, environ: Mapping[str, str], repairs: Repairs = NO_REPAIRS) -> Json:
    """Return the body, with the deployment as the model."""
    body = encode_body(call, _compat(call), repairs)
    return {**body, "model": deployment(call, environ)}


def url(call: Call, environ: Mapping[str, str]) -> str:
    """Return the URL."""
    return endpoint(call, environ, "/responses")


def headers(call: Call) -> dict[str, str]:
    """Return the headers, with the key in Azure's form."""
    key = call.access.api_key
    return {
        **({"api-key": key} if key else {}),
        "content-type": "application/json",
        "user-agent": user_agent(),
    }


def _compat(call: Call) -> Compat:
    """Azure requires ``strict`` for every tool, and has no effort for "off"."""
    return replace(read_compat(call.model), loose_tools=False, off_word=None)

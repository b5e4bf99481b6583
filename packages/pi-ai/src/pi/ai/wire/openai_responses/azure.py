"""Azure OpenAI variant of Responses: deployments instead of models, and the resource's own URL.

``chat_call`` is the same for the models that Azure serves over Chat Completions only.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from pi.ai.builder import MessageBuilder
from pi.ai.errors import BadRequest
from pi.ai.event_stream import Flush
from pi.ai.http.user_agent import user_agent
from pi.ai.messages import Json
from pi.ai.request import Call
from pi.ai.wire.openai_responses.compat import Compat, read_compat
from pi.ai.wire.openai_responses.request import encode_body
from pi.ai.wire.openai_responses.responses_call import ResponsesCall
from pi.ai.wire_support.exchange import Services
from pi.ai.wire_support.repairs import NO_REPAIRS, Repairs
from pi.base.records import replace

API_VERSION = "v1"

_HOSTS = (".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com")
_PATH = "/openai/v1"


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
    version = _variable(call, environ, "AZURE_OPENAI_API_VERSION") or API_VERSION
    return f"{_base_url(call, environ)}/responses?api-version={version}"


def headers(call: Call) -> dict[str, str]:
    """Return the headers, with the key in Azure's form."""
    key = call.access.api_key
    return {
        **({"api-key": key} if key else {}),
        "content-type": "application/json",
        "user-agent": user_agent(),
    }


def chat_call(call: Call, environ: Mapping[str, str]) -> Call:
    """Return a call over Chat Completions with the resource's URL, the key in Azure's form, and
    the deployment as the model."""
    version = _variable(call, environ, "AZURE_OPENAI_API_VERSION") or API_VERSION
    key, access = call.access.api_key, call.access
    return replace(
        call,
        options=replace(
            call.options, sampling_params={**call.sampling, "model": deployment(call, environ)}
        ),
        access=replace(
            access,
            api_key=None,
            headers={**({"api-key": key} if key else {}), **access.headers},
            base_url=f"{_base_url(call, environ)}?api-version={version}",
        ),
    )


def deployment(call: Call, environ: Mapping[str, str]) -> str:
    """Return the name of the deployment: AZURE_OPENAI_DEPLOYMENT_NAME_MAP, or the model's id."""
    names = _variable(call, environ, "AZURE_OPENAI_DEPLOYMENT_NAME_MAP")
    for pair in names.split(","):
        model, _, name = (part.strip() for part in pair.partition("="))
        if model == call.model.id and name:
            return name
    return call.model.id


def _compat(call: Call) -> Compat:
    """Azure requires ``strict`` for every tool, and has no effort for "off"."""
    return replace(read_compat(call.model), loose_tools=False, off_word=None)


def _base_url(call: Call, environ: Mapping[str, str]) -> str:
    address = call.access.base_url or _variable(call, environ, "AZURE_OPENAI_BASE_URL")
    if not address and (name := _variable(call, environ, "AZURE_OPENAI_RESOURCE_NAME")):
        address = f"https://{name}.openai.azure.com"
    address = (address or call.model.base_url).rstrip("/")
    if not address:
        raise BadRequest(
            "Azure OpenAI has no address: set AZURE_OPENAI_BASE_URL or AZURE_OPENAI_RESOURCE_NAME."
        )
    host, _, path = address.partition("://")[2].partition("/")
    if host.endswith(_HOSTS) and path in ("", "openai"):
        return f"https://{host}{_PATH}"
    return address


def _variable(call: Call, environ: Mapping[str, str], name: str) -> str:
    for source in (call.options.env or {}, call.access.env, environ):
        if value := source.get(name, "").strip():
            return value
    return ""

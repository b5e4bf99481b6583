"""Where Azure serves models: the resource's own URL, and deployments instead of models. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from pi.ai.errors import BadRequest
from pi.ai.request import Call
from pi.base.records import replace

API_VERSION = "v1"

_HOSTS = (".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com")
_PATH = "/openai/v1"


def endpoint(call: Call, environ: Mapping[str, str], path: str = "") -> str:
    """Return the URL of ``path`` below the resource's API, with the version."""
    version = _variable(call, environ, "AZURE_OPENAI_API_VERSION") or API_VERSION
    return f"{_base_url(call, environ)}{path}?api-version={version}"


def chat_call(call: Call, environ: Mapping[str, str]) -> Call:
    """Return a call over Chat Completions with the resource's URL, and the deployment as the model.

    This API takes the key as a bearer token, and needs no version.
    """
    model = {"model": deployment(call, environ)}
    return replace(
        call,
        options=replace(call.options, sampling_params={**call.sampling, **model}),
        access=replace(call.access, base_url=_base_url(call, environ)),
    )


def deployment(call: Call, environ: Mapping[str, str]) -> str:
    """Return the name of the deployment: AZURE_OPENAI_DEPLOYMENT_NAME_MAP, or the model's id."""
    names = _variable(call, environ, "AZURE_OPENAI_DEPLOYMENT_NAME_MAP")
    for pair in names.split(","):
        model, _, name = (part.strip() for part in pair.partition("="))
        if model == call.model.id and name:
            return name
    return call.model.id


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

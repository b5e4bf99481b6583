"""The REST form of a request: body, URL and headers, for the Gemini API and for Vertex AI.

URLs of Vertex AI contain project and location; its tokens come from Google's own login.
"""

from __future__ import annotations

import re
from typing import NoReturn
from urllib.parse import quote
from weakref import WeakKeyDictionary

from pi.ai.auth.ambient import LOCATION_VARIABLES, PROJECT_VARIABLES
from pi.ai.auth.google_adc import GoogleCredentials
from pi.ai.errors import BadRequest
from pi.ai.http.client import HttpClient
from pi.ai.http.user_agent import user_agent
from pi.ai.messages import Json
from pi.ai.request import Access, Call
from pi.ai.wire_support.exchange import Services
from pi.base.records import replace

VERTEX = "google-vertex"

_TOP_LEVEL_FIELDS = ("tools", "toolConfig", "safetySettings", "cachedContent", "labels")
"""Settings at the top of a REST body; all others belong to the generation config."""
_HOST = "{location}-aiplatform.googleapis.com"
"""The host of Vertex's models before the location is known."""
_CONTINENTS = ("eu", "us")
"""Multi-region locations; their host names differ."""

_credentials: WeakKeyDictionary[HttpClient, GoogleCredentials] = WeakKeyDictionary()
"""Credentials by HTTP client: a token is valid for an hour."""


def rest_body(payload: Json) -> Json:
    """Return the REST body for ``payload``; the model is part of the URL."""
    generation = dict(payload.get("config") or {})
    body: Json = {"contents": payload.get("contents", [])}
    if (instruction := generation.pop("systemInstruction", None)) is not None:
        if isinstance(instruction, str):
            instruction = {"role": "user", "parts": [{"text": instruction}]}
        body["systemInstruction"] = instruction
    for name in _TOP_LEVEL_FIELDS:
        if name in generation:
            body[name] = generation.pop(name)
    if generation:
        body["generationConfig"] = generation
    return body


def url(call: Call) -> str:
    """Return the URL of the stream."""
    models = models_url(call) if call.model.api == VERTEX else f"{call.base_url}/models"
    name = quote(call.model.id.removeprefix("models/"), safe="/@:")
    return f"{models}/{name}:streamGenerateContent?alt=sse"


def headers(call: Call) -> dict[str, str]:
    """Return content type, user agent, and the credential: an API key, or a token of a login."""
    fixed = {"Content-Type": "application/json", "User-Agent": user_agent()}
    credential = call.access.api_key
    if not credential:
        return fixed
    if _is_token(call.access):
        return {**fixed, "Authorization": f"Bearer {credential}"}
    return {**fixed, "x-goog-api-key": credential}


def _is_token(access: Access) -> bool:
    """Whether the credential is an access token of Google's login, not an API key."""
    return access.kind in ("ambient", "oauth")


def models_url(call: Call) -> str:
    """Return the URL of Google's own models.

    An API key belongs to a project already; a token needs project and location, which come from the
    provider's variables.
    """
    if not _is_token(call.access):
        return f"{_versioned(call.base_url, 'global')}/publishers/google/models"
    project = _variable(call, PROJECT_VARIABLES) or _missing(
        "GOOGLE_CLOUD_PROJECT", "which project pays"
    )
    location = _variable(call, LOCATION_VARIABLES) or _missing(
        "GOOGLE_CLOUD_LOCATION", "where to run, for example global"
    )
    base = _versioned(call.base_url, location)
    return f"{base}/projects/{project}/locations/{location}/publishers/google/models"


def _versioned(base: str, location: str) -> str:
    """Return ``base`` for a location, with the API's version unless it names one itself."""
    base = base.replace(_HOST, _host(location))
    return base if re.search(r"[^/]/v\d\w*$", base) else f"{base}/v1"


def _host(location: str) -> str:
    if location == "global":
        return "aiplatform.googleapis.com"
    if location in _CONTINENTS:
        return f"aiplatform.{location}.rep.googleapis.com"
    return _HOST.format(location=location)


def _variable(call: Call, names: tuple[str, ...]) -> str | None:
    variables = {**call.access.env, **(call.options.env or {})}
    values = (variables.get(name, "") for name in names)
    return next((value for value in values if re.fullmatch(r"[\w:.-]+", value)), None)


def _missing(name: str, meaning: str) -> NoReturn:
    raise BadRequest(
        f"Vertex AI needs {name} for a login without an API key.",
        hint=f"Set {name} to say {meaning}, or use an API key.",
    )


async def with_ambient_token(call: Call, services: Services) -> Call:
    """Return ``call`` with a token, project and location; unchanged if it has a credential.

    Project and location of the request take precedence over the provider's entry, and that over the
    environment.
    """
    access = call.access
    if access.kind != "ambient" or access.api_key:
        return call
    own = {**access.env, **(call.options.env or {})}
    environ = {**services.environ, **own}
    credentials = _credentials.setdefault(services.http, GoogleCredentials())
    token, project = await credentials.access_token(environ, services.http)
    settings: dict[str, str] = {}
    for names in (PROJECT_VARIABLES, LOCATION_VARIABLES):
        variables = own if any(own.get(name) for name in names) else environ
        settings |= {name: variables[name] for name in names if variables.get(name)}
    if project:
        settings = {PROJECT_VARIABLES[0]: project, **settings}
    return replace(call, access=replace(access, api_key=token, env={**access.env, **settings}))

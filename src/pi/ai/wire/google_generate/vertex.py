"""Vertex AI: whose models, in which project and place. Pure."""

from __future__ import annotations

import re
from typing import NoReturn
from weakref import WeakKeyDictionary

from pi.ai.auth.ambient import LOCATION_VARIABLES, PROJECT_VARIABLES
from pi.ai.auth.google_adc import GoogleCredentials
from pi.ai.errors import BadRequest
from pi.ai.http.client import HttpClient
from pi.ai.request import Access, Call
from pi.ai.wire_support.exchange import Services
from pi.base.records import replace

_HOST = "{location}-aiplatform.googleapis.com"
"""What the base URL of Vertex's models holds until the place is known."""
_CONTINENTS = ("eu", "us")
"""Places of several regions; their host names are made differently."""


def is_token(access: Access) -> bool:
    """Whether the credential is an access token of Google's login, not an API key."""
    return access.kind in ("ambient", "oauth")


def models_url(call: Call) -> str:
    """The address of Google's own models.

    An API key belongs to a project already; a token needs project and location, which come from
    the provider's variables.
    """
    if not is_token(call.access):
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
    """``base`` for a place, with the API's version unless it names one itself."""
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


# The token of a Vertex AI request that has no API key, from Google's own login on this machine.


_kept: WeakKeyDictionary[HttpClient, GoogleCredentials] = WeakKeyDictionary()
"""Credentials by the client that renews them: a token serves for an hour."""


async def with_ambient_token(call: Call, services: Services) -> Call:
    """``call`` with a token and the place where to use it; as it is if it has a credential.

    What the request says about project and location beats what the provider's entry says, and
    that beats the environment.
    """
    access = call.access
    if access.kind != "ambient" or access.api_key:
        return call
    own = {**access.env, **(call.options.env or {})}
    environ = {**services.environ, **own}
    credentials = _kept.setdefault(services.http, GoogleCredentials())
    token, project = await credentials.access_token(environ, services.http)
    place: dict[str, str] = {}
    for names in (PROJECT_VARIABLES, LOCATION_VARIABLES):
        said = own if any(own.get(name) for name in names) else environ
        place |= {name: said[name] for name in names if said.get(name)}
    if project:
        place = {PROJECT_VARIABLES[0]: project, **place}
    return replace(call, access=replace(access, api_key=token, env={**access.env, **place}))

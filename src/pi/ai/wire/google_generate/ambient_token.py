"""The token of a Vertex AI request that has no API key, from Google's own login on this machine."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from pi.ai.auth.google_adc import GoogleCredentials
from pi.ai.auth.google_setup import LOCATION_VARIABLES, PROJECT_VARIABLES
from pi.ai.exchange import Services
from pi.ai.http.client import HttpClient
from pi.ai.request import Call
from pi.base.records import replace

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

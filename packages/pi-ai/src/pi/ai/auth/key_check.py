"""Checks a new API key with a request that costs nothing, before it is stored."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pi.ai.models.model import Model
from pi.ai.provider import Provider

if TYPE_CHECKING:  # entering a key must not load the HTTP client
    from pi.ai.http.client import HttpClient

SECONDS = 5.0
_MAX_BYTES = 4 * 1024 * 1024
_PATHS = {
    "anthropic-messages": "/v1/models?limit=1",
    "mistral-conversations": "/v1/models",
    "openai-completions": "/models",
    "openai-responses": "/models",
    "google-generative-ai": "/models?pageSize=1",
}
"""Paths of the model lists, by wire. Wires that sign requests are not checked."""
_PUBLIC_LISTS = {"openrouter": "/key"}
"""Providers that list models without a key, with a path that needs one."""
_INVALID = re.compile(r"API[ _]key[ _](not[ _]valid|invalid)", re.IGNORECASE)
"""Google answers 400 to a wrong key."""


async def refusal(provider: Provider, models: Sequence[Model], key: str, http: HttpClient) -> str:
    """Return why the provider refuses the key; empty if it does not, or if that is unknown.

    Only a clear refusal counts: a key without the right to list models is valid, and a provider
    that cannot be reached now may be reached later.
    """
    from pi.ai.http.errors import HttpError
    from pi.ai.http.request import HttpRequest, Timeouts

    model = models[0] if models else None
    api = model.api if model else "openai-completions"
    base = ((model.base_url if model else "") or provider.base_url).rstrip("/")
    path = _PUBLIC_LISTS.get(provider.id) or _PATHS.get(api, "")
    if not path or not base or "{" in base:
        return ""
    request = HttpRequest(
        method="GET",
        url=base + path,
        headers=_headers(api, key),
        timeouts=Timeouts(connect=SECONDS, first_byte=SECONDS, idle=SECONDS),
    )
    try:
        response = await http.request(request, limit=_MAX_BYTES)
    except HttpError:
        return ""
    body = response.body.decode("utf-8", "replace")
    if response.status == 401 or (response.status == 400 and _INVALID.search(body)):
        return f"{provider.name} does not accept this key (HTTP {response.status})."
    return ""


def _headers(api: str, key: str) -> tuple[tuple[str, str], ...]:
    match api:
        case "anthropic-messages":
            return (("x-api-key", key), ("anthropic-version", "2023-06-01"))
        case "google-generative-ai":
            return (("x-goog-api-key", key),)
        case _:
            return (("Authorization", f"Bearer {key}"),)

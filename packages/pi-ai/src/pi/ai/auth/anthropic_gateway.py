"""Anthropic's models behind a company's gateway, as environment variables describe it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from pi.ai.auth.config_values import escape
from pi.ai.models.custom import CustomProvider
from pi.ai.provider import Provider
from pi.base.records import replace

PROVIDER = "anthropic"
FOUNDRY_KEY = "ANTHROPIC_FOUNDRY_API_KEY"
CUSTOM_HEADERS = "ANTHROPIC_CUSTOM_HEADERS"
CLIENT_KEY = "CLAUDE_CODE_CLIENT_KEY"
"""The private key of a client certificate: the file, or its text."""
SECRET_VARIABLES = (FOUNDRY_KEY, CUSTOM_HEADERS, CLIENT_KEY)

_BETWEEN_HEADERS = r"[\n,](?=\s*[\w-]+\s*:)"
"""A new line, or a comma before the name of the next header: values may contain commas."""


def uses_foundry(environ: Mapping[str, str]) -> bool:
    """Whether ``CLAUDE_CODE_USE_FOUNDRY`` is on."""
    on = environ.get("CLAUDE_CODE_USE_FOUNDRY", "").strip().lower()
    return on in ("1", "true", "yes", "on")


def with_gateway_key(row: Provider, environ: Mapping[str, str]) -> Provider:
    """Return the row of Anthropic with the variables that may hold its token."""
    if not uses_foundry(environ):
        return row
    return replace(row, token_variables=(FOUNDRY_KEY, *row.token_variables))


def with_gateway_url(
    own: CustomProvider | None, environ: Mapping[str, str]
) -> CustomProvider | None:
    """Return Anthropic's entry of models.json, completed by the gateway's variables."""
    base = environ.get("FOUNDRY_BASE_URL", "") if uses_foundry(environ) else ""
    base = (base or environ.get("ANTHROPIC_BASE_URL", "")).rstrip("/").removesuffix("/v1")
    headers = custom_headers(environ)
    if not uses_foundry(environ) and not _is_gateway(base):
        headers = {}
    if not base and not headers:
        return own
    own = own or CustomProvider(id=PROVIDER)
    return replace(own, base_url=own.base_url or base or None, headers={**headers, **own.headers})


def _is_gateway(base: str) -> bool:
    try:
        host = urlsplit(base).hostname or ""
    except ValueError:  # the request itself fails with a clear error
        return False
    return bool(host) and not f".{host}".endswith(".anthropic.com")


def custom_headers(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the headers that a variable adds to every request, in value syntax."""
    if not (text := environ.get(CUSTOM_HEADERS)):
        return {}
    lines = re.split(_BETWEEN_HEADERS, text)
    pairs = (line.partition(":") for line in lines)
    return {name.strip(): escape(value.strip()) for name, colon, value in pairs if colon}

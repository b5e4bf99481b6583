"""Anthropic's workload identity: exchanges a token of the machine's identity provider.

``ANTHROPIC_FEDERATION_RULE_ID``, ``ANTHROPIC_ORGANIZATION_ID`` and the file
``ANTHROPIC_IDENTITY_TOKEN_FILE`` name rule, organization and identity;
``ANTHROPIC_SERVICE_ACCOUNT_ID`` and ``ANTHROPIC_WORKSPACE_ID`` are passed on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import msgspec

from pi.ai.auth.ambient import ANTHROPIC_VARIABLES
from pi.ai.auth.oauth.tokens import LARGEST_ANSWER, TIMEOUTS, Tokens
from pi.ai.errors import AuthenticationFailed, BadAnswer, ProviderError
from pi.ai.failures.classify import from_http, from_status
from pi.ai.http.client import HttpClient
from pi.ai.http.errors import HttpError
from pi.ai.http.request import HttpRequest
from pi.ai.http.user_agent import user_agent
from pi.base.clock import Clock
from pi.base.files import expand_home, read_regular

BETAS = "oauth-2025-04-20,oidc-federation-2026-04-01"
GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
FURTHER = {
    "ANTHROPIC_SERVICE_ACCOUNT_ID": "service_account_id",
    "ANTHROPIC_WORKSPACE_ID": "workspace_id",
}
MARGIN_SECONDS = 60.0
"""A token is replaced this long before it expires."""


class WorkloadIdentity:
    """Keeps the access token between requests; concurrent requests share one exchange."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._token = ""
        self._expires = 0.0
        self._fields: Mapping[str, str] = {}
        """What the token was requested with, without the identity, whose file changes."""

    async def access_token(
        self, environ: Mapping[str, str], base_url: str, http: HttpClient, clock: Clock
    ) -> str:
        """Return a valid access token.

        Raises ``AuthenticationFailed`` if the identity cannot be read or Anthropic refuses it, and
        another ``ProviderError`` for temporary failures.
        """
        rule, organization, file = (environ[name] for name in ANTHROPIC_VARIABLES)
        fields = {"federation_rule_id": rule, "organization_id": organization}
        fields |= {field: environ[name] for name, field in FURTHER.items() if environ.get(name)}
        async with self._lock:
            now = clock.now_ms() / 1000
            if not self._token or now >= self._expires or fields != self._fields:
                identity = await asyncio.to_thread(_read_identity, expand_home(file))
                grant = {"grant_type": GRANT, "assertion": identity, **fields}
                tokens = await _exchange(grant, base_url, http, clock)
                self._token, self._fields = tokens.access_token, fields
                self._expires = now + tokens.expires_in - MARGIN_SECONDS
            return self._token


def _read_identity(path: Path) -> str:
    try:
        identity = read_regular(path).decode("utf-8", "replace").strip()
    except OSError as error:
        raise AuthenticationFailed(
            f"Cannot read the identity token in {path}: {error.strerror}.",
            hint=f"{ANTHROPIC_VARIABLES[-1]} names the file.",
        ) from error
    if not identity:
        raise AuthenticationFailed(f"The identity token in {path} is empty.")
    return identity


async def _exchange(
    grant: Mapping[str, str], base_url: str, http: HttpClient, clock: Clock
) -> Tokens:
    request = HttpRequest(
        url=f"{base_url}/v1/oauth/token",
        method="POST",
        headers=(
            ("User-Agent", user_agent()),
            ("Content-Type", "application/json"),
            ("anthropic-beta", BETAS),
        ),
        body=msgspec.json.encode(dict(grant)),
        timeouts=TIMEOUTS,
    )
    try:
        response = await http.request(request, limit=LARGEST_ANSWER)
    except HttpError as error:
        raise from_http(error) from error
    if not 200 <= response.status < 300:
        failure = from_status(response.status, response.headers, response.body, clock)
        raise _as_refusal(failure)
    try:
        return msgspec.json.decode(response.body, type=Tokens, strict=False)
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        raise BadAnswer(f"Anthropic's access token cannot be used: {error}.") from error


def _as_refusal(failure: ProviderError) -> ProviderError:
    if failure.retryable:
        return failure
    return AuthenticationFailed(
        f"Anthropic refused the workload identity: {failure.message}",
        hint=f"Check {', '.join(ANTHROPIC_VARIABLES)}.",
        status=failure.status,
    )

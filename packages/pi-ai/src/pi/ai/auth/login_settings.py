"""OAuth endpoints, client ids and scopes of all logins. Data.

A client id belongs to its vendor: using it is subject to their terms. Every field can be
replaced in the setting ``oauthClients``, e.g. ``{"anthropic": {"clientId": "…"}}``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec
from msgspec import field

from pi.ai.errors import BadRequest
from pi.ai.messages import Json
from pi.ai.provider import Provider
from pi.base.records import Record

SETTING = "oauthClients"
_KIMI = "kimi-coding"
NO_CLIENTS: Mapping[str, Json] = {}
"""The setting if nothing is replaced."""


class LoginSettings(Record):
    """The settings of one login; most use a part of them."""

    client_id: str = ""
    scope: str = ""
    authorize_url: str = ""
    """The page where the user consents."""
    authorize_params: dict[str, str] = field(default_factory=dict)
    """Further parameters of that page."""
    redirect_host: str = "localhost"
    """How the callback names this machine."""
    redirect_port: int = 0
    """The callback port on this machine; 0 takes any free port."""
    redirect_path: str = "/callback"
    issuer: str = ""
    """The server that the callback has to name if it names one (RFC 9207)."""
    issuer_required: bool = False
    """Whether a callback without the issuer is refused."""
    token_url: str = ""
    token_encoding: Literal["form", "json"] = "form"
    token_params: dict[str, str] = field(default_factory=dict)
    """Further fields of token requests."""
    token_state: bool = False
    """Whether the state is sent again with the code to the token endpoint."""
    device_url: str = ""
    device_params: dict[str, str] = field(default_factory=dict)
    device_token_url: str = ""
    """The polling endpoint, if it is not ``token_url``."""
    device_page: str = ""
    """The page to enter the code on, if the response does not name it."""
    device_redirect: str = ""
    key_url: str = ""
    """The endpoint that exchanges a token for the key of requests."""
    headers: dict[str, str] = field(default_factory=dict)
    """Sent to the endpoints above."""
    request_headers: dict[str, str] = field(default_factory=dict)
    """Sent with every request to the models."""
    margin: int = 0
    """Seconds by which a lifetime is shortened when it is stored."""
    subscription: bool = True
    """Whether a login uses a paid plan instead of paying per request."""
    with_device: bool = False
    """Whether the login names this installation of pi."""
    device_id: str = ""
    """The UUID of this installation, if the login names it."""
    base_url: str = ""
    """The base URL of the provider's models; set from its row."""
    unknown: str = ""
    """A warning about unknown details of this login, shown to the user before it begins."""


CLIENTS: dict[str, LoginSettings] = {
    "anthropic": LoginSettings(
        client_id="9d1c250a-e61b-44d9-88ed-5944d1962f5e",
        scope="org:create_api_key user:profile user:inference user:sessions:claude_code"
        " user:mcp_servers user:file_upload",
        authorize_url="https://claude.ai/oauth/authorize",
        authorize_params={"code": "true"},
        redirect_port=53692,
        token_url="https://platform.claude.com/v1/oauth/token",
        token_encoding="json",
        token_state=True,
        margin=300,
        unknown="Anthropic may expect headers with each request that pi does not know. If requests"
        " are refused, set requestHeaders.",
    ),
    "openai_codex": LoginSettings(
        client_id="app_EMoamEEZ73f0CkXaXp7hrann",
        scope="openid profile email offline_access",
        authorize_url="https://auth.openai.com/oauth/authorize",
        authorize_params={
            "id_token_add_organizations": "true",
            "codex_cli_simplified_flow": "true",
            "originator": "pi",
        },
        redirect_port=1455,
        redirect_path="/auth/callback",
        token_url="https://auth.openai.com/oauth/token",
        device_url="https://auth.openai.com/api/accounts/deviceauth/usercode",
        device_token_url="https://auth.openai.com/api/accounts/deviceauth/token",
        device_page="https://auth.openai.com/codex/device",
        device_redirect="https://auth.openai.com/deviceauth/callback",
    ),
    "chatgpt": LoginSettings(
        client_id="dynamic_agent_client",
        scope="openid profile email offline_access resource.invoke chatgpt.tokens.use.direct",
        authorize_url="https://auth.openai.com/api/accounts/authorize",
        authorize_params={"agent_name_hint": "pi", "resource": "https://api.openai.com/v1"},
        redirect_host="127.0.0.1",
        redirect_port=1455,
        redirect_path="/auth/callback",
        token_url="https://auth.openai.com/api/accounts/oauth/token",
        token_params={"resource": "https://api.openai.com/v1"},
        margin=60,
        with_device=True,
        unknown="This login was tested with a local server, not with OpenAI itself. An API key"
        " works as before: pi auth login openai --api-key.",
    ),
    "github_copilot": LoginSettings(
        client_id="Iv1.b507a08c87ecfe98",
        scope="read:user",
        device_url="https://github.com/login/device/code",
        token_url="https://github.com/login/oauth/access_token",
        key_url="https://api.github.com/copilot_internal/v2/token",
        headers={
            "User-Agent": "GitHubCopilotChat/0.35.0",
            "Editor-Version": "vscode/1.107.0",
            "Editor-Plugin-Version": "copilot-chat/0.35.0",
            "Copilot-Integration-Id": "vscode-chat",
        },
        margin=300,
    ),
    "openrouter": LoginSettings(
        authorize_url="https://openrouter.ai/auth",
        redirect_path="/oauth/callback",
        key_url="https://openrouter.ai/api/v1/auth/keys",
        subscription=False,
    ),
    "kimi_coding": LoginSettings(
        client_id="17e5f671-d194-4dfb-9706-5516cb48c098",
        device_url="https://auth.kimi.com/api/oauth/device_authorization",
        token_url="https://auth.kimi.com/api/oauth/token",
        unknown="Whether Kimi wants a scope is not known. If it refuses the login, set scope.",
    ),
    "meta": LoginSettings(
        client_id="1031625952748946",
        scope="openid",
        device_url="https://auth.meta.com/oidc/device/authorization/",
        token_url="https://auth.meta.com/oidc/device/token/",
        key_url="https://api.meta.ai/muse-code/key",
        headers={"x-api-version": "1.0.0"},
        unknown="Which scope Meta wants is not known. If it refuses the login, set scope.",
    ),
    "xai": LoginSettings(
        client_id="b1a00492-073a-47ea-816f-4c329264a828",
        scope="openid profile email offline_access grok-cli:access api:access",
        device_url="https://auth.x.ai/oauth2/device/code",
        device_params={"referrer": "pi"},
        token_url="https://auth.x.ai/oauth2/token",
        margin=300,
    ),
    "radius": LoginSettings(
        client_id="pi-gateway",
        scope="gateway offline_access",
        margin=60,
        unknown="Where Radius has its login page comes from the gateway. If it does not say, log in"
        " with a device code, or set authorizeUrl.",
    ),
}


def with_host_overrides(
    clients: Mapping[str, Json], environ: Mapping[str, str]
) -> Mapping[str, Json]:
    """Return the setting, completed by hosts from variables; the setting takes precedence."""
    host = environ.get("KIMI_CODE_OAUTH_HOST") or environ.get("KIMI_OAUTH_HOST")
    if not host:
        return clients
    base = host.rstrip("/") if "://" in host else f"https://{host.rstrip('/')}"
    named = {
        "deviceUrl": f"{base}/api/oauth/device_authorization",
        "tokenUrl": f"{base}/api/oauth/token",
    }
    return {**clients, _KIMI: {**named, **clients.get(_KIMI, {})}}


def login_settings(provider: Provider, replaced: Mapping[str, Json]) -> LoginSettings:
    """Return the row for ``provider``, with the overrides for its id or its login's name."""
    name = provider.login if isinstance(provider.login, str) else ""
    # The login of an extension brings its own settings.
    row = CLIENTS.get(name) or getattr(provider.login, "settings", None) or LoginSettings()
    changes = replaced.get(provider.id) or replaced.get(name) or {}
    try:
        return msgspec.convert(
            {**msgspec.to_builtins(row), "baseUrl": provider.base_url, **changes}, LoginSettings
        )
    except msgspec.ValidationError as error:
        raise BadRequest(
            f'The setting "{SETTING}" for {provider.id} cannot be used: {error}.',
            hint="Correct or remove it in settings.json.",
        ) from error

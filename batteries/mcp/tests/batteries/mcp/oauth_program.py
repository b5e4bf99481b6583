# mypy: ignore-errors
# The SDK is installed in an environment of its own.
"""The SDK's server with a login, for the Python of the SDK: oauth_program.py port seconds."""

from __future__ import annotations

import secrets
import sys
import time
from typing import Any

from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthToken

PORT, SECONDS = int(sys.argv[1]), int(sys.argv[2])
BASE = f"http://127.0.0.1:{PORT}"


class Provider:
    """Agrees to every login; counts renewals."""

    def __init__(self) -> None:
        self.clients: dict[str, Any] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.tokens: dict[str, AccessToken] = {}
        self.refreshes: dict[str, RefreshToken] = {}
        self.renewals = 0

    async def get_client(self, client_id: str) -> Any:
        return self.clients.get(client_id)

    async def register_client(self, client_info: Any) -> None:
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: Any, params: AuthorizationParams) -> str:
        code = secrets.token_hex(16)
        self.codes[code] = AuthorizationCode(
            code=code,
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        return construct_redirect_uri(str(params.redirect_uri), code=code, state=params.state)

    async def load_authorization_code(self, client: Any, code: str) -> Any:
        return self.codes.get(code)

    async def exchange_authorization_code(self, client: Any, code: Any) -> OAuthToken:
        del self.codes[code.code]
        return self._issue(client.client_id, code.scopes, code.resource)

    async def load_refresh_token(self, client: Any, token: str) -> Any:
        return self.refreshes.get(token)

    async def exchange_refresh_token(self, client: Any, token: Any, scopes: Any) -> OAuthToken:
        del self.refreshes[token.token]
        self.renewals += 1
        return self._issue(client.client_id, scopes or token.scopes, token.resource)

    async def load_access_token(self, token: str) -> Any:
        return self.tokens.get(token)

    async def revoke_token(self, token: Any) -> None:
        self.tokens.pop(token.token, None)

    def _issue(self, client: str, scopes: list[str], resource: str | None) -> OAuthToken:
        token, refresh = secrets.token_hex(16), secrets.token_hex(16)
        expires = int(time.time()) + SECONDS
        self.tokens[token] = AccessToken(
            token=token, client_id=client, scopes=scopes, expires_at=expires, resource=resource
        )
        self.refreshes[refresh] = RefreshToken(
            token=refresh, client_id=client, scopes=scopes, resource=resource
        )
        return OAuthToken(access_token=token, expires_in=SECONDS, refresh_token=refresh)


provider = Provider()
server = MCPServer(
    "guarded",
    auth_server_provider=provider,
    auth=AuthSettings(
        issuer_url=BASE,
        resource_server_url=f"{BASE}/mcp",
        client_registration_options=ClientRegistrationOptions(enabled=True),
        validate_token_resource=True,
    ),
)


@server.tool()
def renewals() -> int:
    """How often tokens were renewed."""
    return provider.renewals


server.run("streamable-http", port=PORT)

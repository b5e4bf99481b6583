"""Logins at servers: discovery of the authorization server, registration, tokens by address.

Steps of a login: metadata of the protected resource, metadata of its authorization server, a
client (configured, by a metadata document, or registered), then the browser with PKCE. Tokens are
stored under ``mcp:<address>`` and renewed before they expire.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from pi.batteries.mcp.protocol import McpError
from pi.batteries.mcp.server import McpServer
from pi.extension import (
    AuthenticationFailed,
    ExtensionAPI,
    Json,
    LoginCallbacks,
    OAuthClient,
    OAuthConfig,
    OAuthCredential,
    PiError,
    Record,
    Registration,
    Timeouts,
    neutralise,
    one_line,
    replace,
)
from pi.extension.guards import AddressPolicy

MIN_EXPIRY = 10.0
"""A token that is valid for fewer seconds is renewed before the request."""
MAX_METADATA = 256 * 1024
_TIMEOUTS = {"connect": 10.0, "first_byte": 20.0, "idle": 20.0}
LOCAL = ("localhost", "127.0.0.1", "::1")
_ADDRESS = re.compile(r"https?://", re.IGNORECASE)
_PARAMETER = re.compile(r'([a-z_]+)="((?:[^"\\]|\\.)*)"|([a-z_]+)=([^\s,"]+)', re.IGNORECASE)


class Authorization(Record):
    """The endpoints and parameters of a login."""

    resource: str
    issuer: str
    authorize_url: str
    token_url: str
    registration_url: str = ""
    scope: str = ""
    accepts_metadata_documents: bool = False
    """Whether the client id can be the address of a metadata document."""
    callback_issuer: str = ""
    """The required value of ``iss`` in the callback; empty if there is no metadata."""
    names_issuer: bool = False
    """Whether every callback has ``iss`` (RFC 9207)."""


class Logins:
    """The access tokens of the servers of one session."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi
        self._registered: dict[str, Registration] = {}
        self._stored: dict[str, int | None] | None = None
        """Expiry times of stored credentials by name; ``None`` until they are read."""
        self._tokens: dict[str, tuple[str, int]] = {}
        """Tokens in use with their expiry times, by name.

        ``pi.auth`` renews a token minutes before it expires: a token with a lifetime of one minute
        would be renewed for every request.
        """

    async def headers(self, server: McpServer) -> dict[str, str]:
        """The header with the access token; empty without a login."""
        name = credential_name(server.link.url)
        if not await self._is_stored(name):
            return {}
        token, expires = self._tokens.get(name, ("", 0))
        if expires - self._pi.scope.clock.now_ms() > MIN_EXPIRY * 1000:
            return {"Authorization": f"Bearer {token}"}
        self._add(server)
        try:
            access = await self._pi.auth.access(name, min_expiry=MIN_EXPIRY)
        except AuthenticationFailed as error:
            server.log(f"The access token could not be renewed: {error.message}")
            return {}
        if access is None or not access.api_key:
            return {}
        await self._remember(name, access.api_key)
        return {"Authorization": f"Bearer {access.api_key}"}

    async def _remember(self, name: str, token: str) -> None:
        stored = await self._read_stored()
        self._tokens[name] = (token, stored.get(name) or 0)

    async def renew(self, server: McpServer) -> bool:
        """Renew a token that the server refused. Returns whether that succeeded."""
        name = credential_name(server.link.url)
        if not await self._is_stored(name):
            return False
        self._add(server)
        self._tokens.pop(name, None)
        try:
            return await self._pi.auth.refresh(name) is not None
        except PiError as error:
            server.log(f"The access token could not be renewed: {error.message}")
            return False

    async def login(self, server: McpServer) -> None:
        """Let the user log in, and store the tokens. Raises ``PiError``."""
        self._add(server)
        name = credential_name(server.link.url)
        if self._pi.context.has_ui:
            await self._pi.auth.login(name)
        else:  # `pi mcp login` asks on the terminal
            await self._pi.auth.put(name, await self._pi.auth.obtain(name))
        self._stored = None

    async def forget(self, server: McpServer) -> bool:
        """Remove the stored tokens. Returns False if there were none."""
        self._stored = None
        self._tokens.pop(credential_name(server.link.url), None)
        return await self._pi.auth.remove(credential_name(server.link.url))

    async def _is_stored(self, name: str) -> bool:
        stored = await self._read_stored() if self._stored is None else self._stored
        return name in stored

    async def _read_stored(self) -> dict[str, int | None]:
        self._stored = {
            credential.name: credential.expires for credential in await self._pi.auth.list()
        }
        return self._stored

    def _add(self, server: McpServer) -> None:
        """Register the login of a server, so that its tokens can be renewed."""
        name = credential_name(server.link.url)
        if name in self._registered:
            return

        async def login(callbacks: LoginCallbacks) -> OAuthCredential:
            return await self._logged_in(server, callbacks)

        config = OAuthConfig(name=f"MCP {server.name}", login=login, refresh_token=self._renew)
        self._registered[name] = self._pi.auth.add_login(
            name, label=f"MCP server {server.name}", oauth=config
        )

    async def _logged_in(self, server: McpServer, callbacks: LoginCallbacks) -> OAuthCredential:
        challenge = await self._challenge(server)
        authorization = await self._discover(server, challenge)
        configured = server.configured.definition.oauth
        scope = _scopes(configured.get("scopes") or configured.get("scope"))
        used = OAuthClient(
            authorize_url=authorization.authorize_url,
            token_url=authorization.token_url,
            client_id=str(configured.get("clientId") or ""),
            client_secret=str(configured.get("clientSecret") or ""),
            scope=scope or authorization.scope,
            authorize_params={"resource": authorization.resource},
            token_params={"resource": authorization.resource},
            redirect_port=int(configured.get("callbackPort") or 0),
            issuer=authorization.callback_issuer,
            issuer_required=authorization.names_issuer,
        )

        async def register(redirect_uri: str) -> OAuthClient:
            nonlocal used
            if not used.client_id:
                used = await self._registered_client(server, authorization, used, redirect_uri)
            return used

        credential = await self._pi.auth.browser_flow(callbacks, used, register=register)
        extra = {
            **(credential.extra or {}),
            "clientId": used.client_id,
            "clientSecret": used.client_secret,
            "tokenUrl": used.token_url,
            "resource": authorization.resource,
            "issuer": authorization.issuer,
        }
        return replace(credential, extra=extra)

    async def _renew(self, credential: OAuthCredential) -> OAuthCredential:
        extra = credential.extra or {}
        if not credential.refresh or not extra.get("tokenUrl"):
            raise AuthenticationFailed("The login at the MCP server has expired.")
        client = OAuthClient(
            authorize_url="",
            token_url=str(extra["tokenUrl"]),
            client_id=str(extra.get("clientId") or ""),
            client_secret=str(extra.get("clientSecret") or ""),
            token_params={"resource": str(extra["resource"])} if extra.get("resource") else {},
        )
        return await self._pi.auth.renew(credential, client)

    # Discovery ------------------------------------------------------------------------------------

    async def _challenge(self, server: McpServer) -> dict[str, str]:
        """The parameters of ``WWW-Authenticate`` of a request without a token."""
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
        try:
            answer = await self._pi.http.request(
                server.link.url,
                method="POST",
                headers=headers,
                body=body,
                timeouts=Timeouts(**_TIMEOUTS),
                limit=MAX_METADATA,
            )
        except PiError as error:
            raise McpError(
                f"MCP server {server.name} cannot be reached: {error.message}", hint=error.hint
            ) from error
        return challenge_parameters(answer.headers.get("www-authenticate"))

    async def _discover(self, server: McpServer, challenge: dict[str, str]) -> Authorization:
        named = challenge.get("resource_metadata")
        addresses = [named] if named else [*well_known(server.link.url, "oauth-protected-resource")]
        policy = discovery_policy(server.link.url)
        resource = await self._first(addresses, policy)
        issuer, scopes = "", challenge.get("scope", "")
        if resource is not None:
            resource_url = str(resource.get("resource") or server.link.url)
            if not is_same_resource(resource_url, server.link.url):
                raise McpError(
                    f"MCP server {server.name} names another resource in its metadata:"
                    f" {one_line(resource_url)}",
                    hint="Check the address of the server.",
                )
            servers = resource.get("authorization_servers")
            issuer = str(servers[0]) if isinstance(servers, list) and servers else ""
            scopes = scopes or _scopes(resource.get("scopes_supported"))
        parts = urlsplit(server.link.url)
        issuer = issuer or urlunsplit((parts.scheme, parts.netloc, "", "", ""))
        metadata = await self._first([*authorization_places(issuer)], policy)
        canonical = str((resource or {}).get("resource") or server.link.url)
        return authorization(server.name, issuer, metadata, resource=canonical, scope=scopes)

    async def _first(self, addresses: list[str], policy: AddressPolicy) -> Json | None:
        """The first metadata document that exists."""
        for address in addresses:
            try:
                answer = await self._pi.http.request(
                    address,
                    headers={"Accept": "application/json"},
                    timeouts=Timeouts(**_TIMEOUTS),
                    redirects=3,
                    limit=MAX_METADATA,
                    allow_address=policy,
                )
                document = answer.json() if answer.status == 200 else None
            except PiError:
                continue  # try the next address
            if isinstance(document, dict):
                return document
        return None

    async def _registered_client(
        self,
        server: McpServer,
        authorization: Authorization,
        client: OAuthClient,
        redirect_uri: str,
    ) -> OAuthClient:
        """The client with an id: of a metadata document if that is accepted, else registered.

        Raises ``McpError``.
        """
        document = self._pi.settings.get("mcp.clientMetadataUrl", with_project=False)
        if server.configured.definition.oauth.get("clientRegistration") == "dcr":
            document = ""
        if document and authorization.accepts_metadata_documents:
            return replace(client, client_id=document)
        if not authorization.registration_url:
            raise McpError(
                f"The authorization server of MCP server {server.name} registers no clients.",
                hint='Add "oauth": {"clientId": "…"} to the definition of the server.',
            )
        body = {
            "client_name": str(server.configured.definition.oauth.get("clientName") or "pi"),
            "redirect_uris": [redirect_uri],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
        }
        if client.scope:
            body["scope"] = client.scope
        answer = await self._pi.http.request(
            authorization.registration_url,
            method="POST",
            headers={"Content-Type": "application/json", "Accept": "application/json"},
            body=json.dumps(body).encode(),
            timeouts=Timeouts(**_TIMEOUTS),
            limit=MAX_METADATA,
            allow_address=discovery_policy(server.link.url),
        )
        registration = answer.json() if answer.status in (200, 201) else None
        if not isinstance(registration, dict) or not isinstance(registration.get("client_id"), str):
            raise McpError(
                f"The registration at the authorization server of MCP server {server.name} failed"
                f" with status {answer.status}: {one_line(neutralise(answer.text[:1000]))[:200]}",
                hint='Add "oauth": {"clientId": "…"} to the definition of the server.',
            )
        secret = str(registration.get("client_secret") or "")
        return replace(client, client_id=registration["client_id"], client_secret=secret)


def credential_name(url: str) -> str:
    """The name under which the tokens of a server are stored."""
    return f"mcp:{url.partition('#')[0].rstrip('/')}"


def discovery_policy(url: str) -> AddressPolicy:
    """The addresses that a server may name for a login: none of this machine, unless it is there.

    They come from the server, which must not reach services that only this machine can reach.
    """
    host = urlsplit(url).hostname or ""
    is_local = host in LOCAL or host.startswith("127.")
    return AddressPolicy(allow_private=True, allow_hosts=(host, *(LOCAL if is_local else ())))


def challenge_parameters(header: str) -> dict[str, str]:
    """The parameters of a ``WWW-Authenticate`` header."""
    matches = _PARAMETER.finditer(header or "")
    return {(match[1] or match[3]).lower(): match[2] if match[1] else match[4] for match in matches}


def well_known(url: str, name: str) -> Iterator[str]:
    """Addresses of a metadata document: with the path of ``url``, then without."""
    parts = urlsplit(url)
    path = parts.path.rstrip("/")
    for suffix in dict.fromkeys((path, "")):
        yield urlunsplit((parts.scheme, parts.netloc, f"/.well-known/{name}{suffix}", "", ""))


def authorization_places(issuer: str) -> Iterator[str]:
    """Addresses of the metadata of an authorization server, in the order of the protocol."""
    parts = urlsplit(issuer)
    path = parts.path.rstrip("/")

    def well_known_url(url_path: str) -> str:
        return urlunsplit((parts.scheme, parts.netloc, url_path, "", ""))

    yield well_known_url(f"/.well-known/oauth-authorization-server{path}")
    yield well_known_url(f"/.well-known/openid-configuration{path}")
    if path:
        yield well_known_url(f"{path}/.well-known/openid-configuration")


def authorization(
    server: str, issuer: str, metadata: Json | None, *, resource: str, scope: str
) -> Authorization:
    """Check the metadata of an authorization server. Raises ``McpError``."""
    base = issuer.rstrip("/")
    if metadata is None:  # the default endpoints of protocol version 2025-03-26
        return Authorization(
            resource=resource,
            issuer=issuer,
            authorize_url=f"{base}/authorize",
            token_url=f"{base}/token",
            registration_url=f"{base}/register",
            scope=scope,
        )
    published_issuer = str(metadata.get("issuer") or "")
    if published_issuer.rstrip("/") != base:
        raise McpError(
            f"The authorization server of MCP server {server} calls itself"
            f" {one_line(published_issuer)!r}"
            f" instead of {base!r}.",
            hint="This may be an attempt to steal a login; contact the operator of the server.",
        )
    methods = metadata.get("code_challenge_methods_supported")
    if not isinstance(methods, list) or "S256" not in methods:
        raise McpError(
            f"The authorization server of MCP server {server} does not support PKCE with S256.",
            hint="Use an access token in a header of the definition instead.",
        )
    endpoints = {
        key: str(metadata.get(key) or "")
        for key in ("authorization_endpoint", "token_endpoint", "registration_endpoint")
    }
    if not endpoints["authorization_endpoint"] or not endpoints["token_endpoint"]:
        raise McpError(f"The authorization server of MCP server {server} names no endpoints.")
    if other := next((url for url in endpoints.values() if url and not _ADDRESS.match(url)), ""):
        raise McpError(
            f"The authorization server of MCP server {server} names an address that is not an http"
            f" address: {one_line(neutralise(other))[:200]}"
        )
    return Authorization(
        resource=resource,
        issuer=issuer,
        authorize_url=endpoints["authorization_endpoint"],
        token_url=endpoints["token_endpoint"],
        registration_url=endpoints["registration_endpoint"],
        scope=scope,
        accepts_metadata_documents=metadata.get("client_id_metadata_document_supported") is True,
        callback_issuer=published_issuer,
        names_issuer=metadata.get("authorization_response_iss_parameter_supported") is True,
    )


def is_same_resource(named: str, url: str) -> bool:
    """Whether ``named`` covers ``url``: the same origin, and the same path or one above."""
    one, other = urlsplit(named), urlsplit(url)
    if (one.scheme, one.netloc.lower()) != (other.scheme, other.netloc.lower()):
        return False
    above, path = one.path.rstrip("/"), other.path.rstrip("/")
    return path == above or path.startswith(f"{above}/")


def _scopes(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(map(str, value))
    return value if isinstance(value, str) else ""

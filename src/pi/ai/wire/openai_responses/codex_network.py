"""How a WebSocket gets out: the proxy and the certificates that HTTP requests have."""

from __future__ import annotations

from binascii import a2b_base64
from typing import Any
from urllib.parse import quote

from pi.ai.http.client import HttpClient
from pi.ai.http.proxy import Proxy
from pi.ai.http.urls import parse_url


async def network_arguments(url: str, http: HttpClient) -> dict[str, Any]:
    """Arguments for ``websockets.connect``; ``HttpError`` when proxy or certificates are unusable.

    ``url`` begins with ``ws`` where one for HTTP has ``http``.
    """
    plain = f"http{url.removeprefix('ws')}"
    proxy = http.proxy_for(plain)
    arguments: dict[str, Any] = {"proxy": proxy_url(proxy) if proxy else None}
    schemes = {"ssl": parse_url(plain).origin.scheme}
    if proxy is not None:
        schemes["proxy_ssl"] = proxy.origin.scheme
    if names := [name for name, scheme in schemes.items() if scheme == "https"]:
        arguments |= dict.fromkeys(names, await http.tls_context())
    return arguments


def proxy_url(proxy: Proxy) -> str:
    """``proxy`` as a URL with its user and password."""
    encoded = proxy.authorization.removeprefix("Basic ")
    user, _, password = a2b_base64(encoded).decode().partition(":")
    userinfo = f"{quote(user, safe='')}:{quote(password, safe='')}@" if encoded else ""
    return f"{proxy.origin.scheme}://{userinfo}{proxy.origin.netloc}"

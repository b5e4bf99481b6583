"""Network settings of a WebSocket: proxy and certificates, as for HTTP requests."""

from __future__ import annotations

from binascii import a2b_base64
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from pi.ai.http.client import HttpClient
from pi.ai.http.proxy import Proxy
from pi.ai.http.url import parse_url

if TYPE_CHECKING:
    pass


async def network_arguments(url: str, http: HttpClient) -> dict[str, Any]:
    """Return arguments for ``websockets.connect``; raises ``HttpError`` if they are unusable.

    ``url`` has the scheme ``ws`` or ``wss``.
    """
    plain = f"http{url.removeprefix('ws')}"
    proxy = http.proxy_for(plain)
    arguments: dict[str, Any] = {"proxy": proxy_url(proxy) if proxy else None}
    schemes = {"ssl": parse_url(plain).origin.scheme}
    if proxy is not None:
        schemes["proxy_ssl"] = proxy.origin.scheme
    if names := [name for name, scheme in schemes.items() if scheme == "https"]:
        arguments |= dict.fromkeys(names, await http.tls.get())
    return arguments


def proxy_url(proxy: Proxy) -> str:
    """Return ``proxy`` as a URL with its user and password."""
    encoded = proxy.authorization.removeprefix("Basic ")
    user, _, password = a2b_base64(encoded).decode().partition(":")
    userinfo = f"{quote(user, safe='')}:{quote(password, safe='')}@" if encoded else ""
    return f"{proxy.origin.scheme}://{userinfo}{proxy.origin.netloc}"

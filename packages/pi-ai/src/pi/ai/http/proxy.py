"""Proxies: from the environment, their exceptions, and the tunnel through one."""

from __future__ import annotations

from collections.abc import Mapping

from pi.ai.http.errors import (
    ConnectFailed,
    HttpError,
    InvalidRequest,
    ProxyFailed,
)
from pi.ai.http.request import HeaderPairs, encode_lines
from pi.ai.http.url import Origin, basic_authorization, parse_url
from pi.base.records import Record


class Proxy(Record):
    """An HTTP proxy, reached in plain text or over TLS."""

    origin: Origin
    authorization: str = ""

    @property
    def headers(self) -> HeaderPairs:
        """Headers for requests that the proxy itself answers."""
        if not self.authorization:
            return ()
        return (("Proxy-Authorization", self.authorization),)


def choose_proxy(
    origin: Origin, *, setting: str | None, environ: Mapping[str, str]
) -> Proxy | None:
    """Return the proxy for ``origin``, or None to connect directly.

    ``setting`` takes precedence over the environment; an empty one means no proxy. NO_PROXY applies
    in both cases.
    """
    text = _from_environment(origin.scheme, environ) if setting is None else setting.strip()
    if not text or _is_excepted(origin, _variable("NO_PROXY", environ)):
        return None
    return _parse_proxy(text)


def encode_connect(origin: Origin, proxy: Proxy) -> bytes:
    """Return the CONNECT request for a tunnel to ``origin``."""
    fields = [("Host", origin.netloc), *proxy.headers]
    return encode_lines("CONNECT", origin.netloc, fields)


def _from_environment(scheme: str, environ: Mapping[str, str]) -> str:
    name = f"{scheme.upper()}_PROXY"
    if name == "HTTP_PROXY" and "REQUEST_METHOD" in environ:
        # Inside a CGI script HTTP_PROXY is the visitor's "Proxy:" header (httpoxy).
        return environ.get("http_proxy", "").strip() or _variable("ALL_PROXY", environ)
    return _variable(name, environ) or _variable("ALL_PROXY", environ)


def _variable(name: str, environ: Mapping[str, str]) -> str:
    return (environ.get(name.lower()) or environ.get(name) or "").strip()


def _parse_proxy(text: str) -> Proxy:
    scheme, separator, _ = text.partition("://")
    if separator and scheme.lower() not in ("http", "https"):
        raise ProxyFailed(
            f"Proxies of the kind {scheme}:// are not supported.",
            hint="Use an http:// or https:// proxy, or except the host in NO_PROXY.",
        )
    try:
        url = parse_url(text if separator else f"http://{text}")
    except InvalidRequest as error:
        raise ProxyFailed(
            f"The proxy setting is not usable: {error.message}",
            hint="Check the httpProxy setting and the *_PROXY variables.",
        ) from error
    authorization = basic_authorization(url.userinfo) if url.userinfo else ""
    return Proxy(origin=url.origin, authorization=authorization)


def _is_excepted(origin: Origin, no_proxy: str) -> bool:
    return any(_matches(origin, rule) for rule in no_proxy.lower().replace(",", " ").split())


def _matches(origin: Origin, rule: str) -> bool:
    if rule == "*":
        return True
    if "/" in rule:
        return _is_in_network(origin.host, rule)
    name, port = _rule_parts(rule)
    if port and port != str(origin.port):
        return False
    name = name.removeprefix("*").removeprefix(".")
    return bool(name) and (origin.host == name or origin.host.endswith(f".{name}"))


def _rule_parts(rule: str) -> tuple[str, str]:
    """Return host and port of a NO_PROXY entry; a bare IPv6 address has colons and no port."""
    if rule.startswith("["):
        address, _, port = rule[1:].partition("]")
        return address, port.removeprefix(":")
    if rule.count(":") > 1:
        return rule, ""
    name, _, port = rule.partition(":")
    return name, port


def _is_in_network(host: str, rule: str) -> bool:
    from ipaddress import ip_address, ip_network  # lazy: 2 ms, and few users write networks here

    try:
        return ip_address(host) in ip_network(rule, strict=False)
    except ValueError:
        return False


def proxy_refusal(proxy: Proxy, origin: Origin, status: int) -> HttpError:
    """Return the error for a proxy that answers ``status`` instead of ``origin``."""
    name, target = f"The proxy {proxy.origin.netloc}", origin.netloc
    if status == 407:
        return ProxyFailed(
            f"{name} requires a user name and a password to connect to {target}.",
            hint="Put those that it accepts into the proxy URL: http://user:password@host:port.",
        )
    if status >= 500:
        return ConnectFailed(f"{name} cannot reach {target} (status {status}).")
    return ProxyFailed(f"{name} refuses to connect to {target} (status {status}).")

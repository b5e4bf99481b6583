"""Address policy: the addresses that a request may reach, for URLs that a model has chosen.

The check runs after the name is resolved, and for every redirect. The connection goes to the
checked address, so that a name that resolves to another one the next time (DNS rebinding) does not
bypass it.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from pi.ai.http.errors import HttpError
from pi.base.records import Record

AddressKind: TypeAlias = Literal[
    "public", "loopback", "private", "link-local", "metadata", "reserved"
]

METADATA = frozenset(
    {
        "169.254.169.254",  # AWS, Azure, Google and others: credentials of the machine
        "169.254.170.2",  # AWS containers
        "169.254.170.23",
        "fd00:ec2::254",
        "fd00:ec2::23",
        "fd20:ce::254",
        "100.100.100.200",  # Alibaba
        "168.63.129.16",  # Azure's wire server
        "192.0.0.192",  # Oracle
    }
)
_PRIVATE = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "198.18.0.0/15",
            "fc00::/7", "fec0::/10")  # fmt: skip


class AddressRefused(HttpError):
    """The policy does not allow an address; a private one may be allowed by the user."""

    def __init__(
        self, message: str, *, hint: str = "", kind: AddressKind = "reserved", origin: str = ""
    ) -> None:
        super().__init__(message, hint=hint)
        self.kind = kind
        self.origin = origin
        """``host:port`` that was refused, also after a redirect."""


class AddressPolicy(Record):
    """The addresses that may be reached besides public ones."""

    allow_private: bool = False
    """Private networks, also shared and unique local addresses."""
    allow_hosts: tuple[str, ...] = ()
    """``host`` or ``host:port``, as ``localhost:3000``: exempt, except from metadata services."""

    def check(self, host: str, port: int, address: str) -> None:
        """Raise ``AddressRefused`` if ``host``, which resolved to ``address``, is not allowed."""
        kind = address_kind(address)
        if kind == "public" or (kind == "private" and self.allow_private):
            return
        named = {entry.lower().strip() for entry in self.allow_hosts}
        if kind != "metadata" and not named.isdisjoint(
            {host, f"{host}:{port}", f"[{host}]:{port}"}
        ):
            return
        target = host if host == address else f"{host} ({address})"
        raise AddressRefused(
            f"{target} is not allowed: {_KINDS[kind]}.",
            hint=_HINTS.get(kind, ""),
            kind=kind,
            origin=f"[{host}]:{port}" if ":" in host else f"{host}:{port}",
        )


_KINDS = {
    "loopback": "it is this machine",
    "private": "it is in a private network",
    "link-local": "it is a link-local address",
    "metadata": "it is a metadata service, which hands out credentials",
    "reserved": "it is a reserved address",
}
_HINTS = {
    "loopback": "Add host:port to web.allowHosts to allow it.",
    "private": "Set web.allowPrivate, or add the host to web.allowHosts.",
}


def address_kind(address: str) -> AddressKind:
    """Return the kind of a literal address; that of the IPv4 address if IPv6 embeds one."""
    from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network  # lazy: 2 ms

    try:
        ip: IPv4Address | IPv6Address = ip_address(address.partition("%")[0])
    except ValueError:
        return "reserved"
    if isinstance(ip, IPv6Address) and (inner := _embedded(ip)) is not None:
        return address_kind(inner)
    private = any(ip in ip_network(network) for network in _PRIVATE if _fits(ip.version, network))
    kinds: dict[AddressKind, bool] = {
        "metadata": str(ip) in METADATA,
        "loopback": ip.is_loopback or ip.is_unspecified or str(ip).startswith("0."),
        "link-local": ip.is_link_local,
        "private": private,
        "public": ip.is_global and not ip.is_multicast and _is_unicast(ip),
    }
    return next((kind for kind, holds in kinds.items() if holds), "reserved")


def _is_unicast(address: object) -> bool:
    """Whether an IPv6 address is in 2000::/3, the only part that is routed.

    The rest holds prefixes of translators (``::ffff:0:127.0.0.1``, ``64:ff9b:1::/48``), which may
    lead to any IPv4 address.
    """
    from ipaddress import IPv6Address

    return not isinstance(address, IPv6Address) or int(address) >> 125 == 0b001


def _fits(version: int, network: str) -> bool:
    return (version == 6) == (":" in network)


def _embedded(address: object) -> str | None:
    """Return the IPv4 address in a mapped, translated or tunnelled IPv6 address."""
    from ipaddress import IPv4Address, IPv6Address

    assert isinstance(address, IPv6Address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    if address.sixtofour is not None:
        return str(address.sixtofour)
    if address.teredo is not None:
        return str(address.teredo[1])
    number = int(address)
    translated = number >> 96 == 0x0064FF9B and (number >> 32) & ((1 << 64) - 1) == 0
    compatible = 1 < number < 1 << 32  # ::a.b.c.d, deprecated and still routed by some
    if translated or compatible:
        return str(IPv4Address(number & 0xFFFFFFFF))
    return None

"""Credential records: an API key, or the tokens of a login.

The JSON form is an entry of pi's ``auth.json``.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec
from msgspec import field

from pi.ai.messages import Json
from pi.base.records import Record

NEVER = 9007199254740991
"""``expires`` of a credential without expiry: JavaScript's largest safe integer."""


class ApiKeyCredential(Record):
    """A key, variables, or both."""

    key: str | None = None
    """In the syntax of ``pi.ai.auth.config_values``: literal, ``$NAME`` or ``!command``."""
    env: dict[str, str] = field(default_factory=dict)
    """Variables of this provider; they override those of the process."""
    extra: Json = field(default_factory=dict)
    """Unknown fields, kept when the entry is written."""


class OAuthCredential(Record):
    """The tokens of a login."""

    access: str
    refresh: str
    expires: int
    """Milliseconds since 1970, usually some minutes before the real expiry."""
    extra: Json = field(default_factory=dict)
    """Vendor-specific and unknown fields, kept when the entry is written."""


Credential: TypeAlias = ApiKeyCredential | OAuthCredential

_KINDS: dict[str, tuple[type[ApiKeyCredential | OAuthCredential], tuple[str, ...]]] = {
    "api_key": (ApiKeyCredential, ("key", "env")),
    "oauth": (OAuthCredential, ("access", "refresh", "expires")),
}


def decode(entry: object) -> Credential:
    """Return the credential of an entry; raises ``ValueError`` with the reason if it is
    invalid."""
    if not isinstance(entry, dict):
        raise ValueError("it is not an object")
    if entry.get("type") not in _KINDS:
        raise ValueError('its "type" is neither "api_key" nor "oauth"')
    kind, names = _KINDS[entry["type"]]
    fields = {name: entry[name] for name in names if entry.get(name) is not None}
    if isinstance(fields.get("expires"), float):
        fields["expires"] = int(fields["expires"])
    extra = {name: value for name, value in entry.items() if name not in (*names, "type")}
    return msgspec.convert({**fields, "extra": extra}, kind)


def encode(credential: Credential) -> Json:
    """Return the entry of a credential; the inverse of ``decode``."""
    match credential:
        case ApiKeyCredential(key=key, env=env):
            fields: Json = {"type": "api_key", "key": key, "env": env or None}
        case OAuthCredential(access=access, refresh=refresh, expires=expires):
            fields = {"type": "oauth", "access": access, "refresh": refresh, "expires": expires}
    return {name: value for name, value in fields.items() if value is not None} | credential.extra

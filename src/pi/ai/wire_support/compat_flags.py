"""Compat flags: reads a model's flags about its server, and matches hosts. Pure.

Each wire has a record of the flags that it supports.
"""

from __future__ import annotations

from typing import TypeVar
from urllib.parse import urlsplit

import msgspec

from pi.ai.errors import BadRequest
from pi.ai.messages import Json
from pi.ai.models.model import Model
from pi.ai.request import Call

F = TypeVar("F")


def read_flags(model: Model, kind: type[F], known: Json | None = None) -> F:
    """Returns the flags of ``model`` as ``kind``; null or missing ones are taken from ``known``.

    Raises ``BadRequest`` if one of them has a wrong type.
    """
    said = {name: value for name, value in (model.compat or {}).items() if value is not None}
    flags = {**(known or {}), **said}
    if not flags:
        return kind()
    try:
        return msgspec.convert(flags, kind)
    except msgspec.ValidationError as error:
        raise BadRequest(
            f"The compat flags of model {model.id!r} cannot be read: {error}",
            hint="Correct the model's compat in models.json.",
        ) from error


def host_of(call: Call) -> str:
    """Returns the host name of the server of ``call``."""
    try:
        return urlsplit(call.base_url).hostname or ""
    except ValueError:  # e.g. half an IPv6 address; the request itself fails with a clear error
        return ""


def is_within(host: str, domain: str) -> bool:
    """Whether ``host`` is ``domain`` or a subdomain of it."""
    return host == domain or host.endswith(f".{domain}")

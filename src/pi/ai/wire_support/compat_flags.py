"""Compat flags: what a model says about its server, and how to tell what it leaves unsaid. Pure.

Each wire has a record of the flags that it knows.
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
    """The flags of ``model`` as ``kind``; those that are null or missing are as ``known``.

    Raises ``BadRequest`` when one of them has a wrong type.
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
    """The name of the server that is asked."""
    try:
        return urlsplit(call.base_url).hostname or ""
    except ValueError:  # e.g. half an IPv6 address; the request itself will say so
        return ""


def is_within(host: str, domain: str) -> bool:
    """Whether ``host`` is ``domain`` or belongs to it."""
    return host == domain or host.endswith(f".{domain}")

"""Identifiers of items and calls. Pure.

The server accepts at most 64 characters of its alphabet.
"""

from __future__ import annotations

import hashlib
import re

from pi.ai.messages import (
    AssistantMessage,
)
from pi.ai.models.model import Model
from pi.ai.wire_support.handoff import is_own, plain_id, unique_id

LONGEST = 64

_ITEM = r"([a-z]+)_[A-Za-z0-9_-]+"


def short_key(text: str) -> str:
    """Return ``text``, or its hash if it is too long for a cache key or session id."""
    return text if len(text) <= LONGEST else _digest(text)


def item_id(identifier: str, kind: str) -> str:
    """Return ``identifier`` if it is valid for an item of ``kind`` (``msg``, ``fc``, ``ctc``).

    Gateways use ids of another form or of hundreds of characters; those become a hash.
    """
    match = re.fullmatch(_ITEM, identifier)
    if match is not None and match[1] == kind and len(identifier) <= LONGEST:
        return identifier
    return f"{kind}_{_digest(identifier)[:32]}"


class CallIds:
    """Maps the ids of tool calls to unique ``call_id|item_id`` of one request.

    An item id is kept only for the model's own calls, which follow its own reasoning. Both parts
    are used once: servers reject a second item with the same id.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._used: set[str] = set()
        self._counts: dict[str, int] = {}

    def __copy__(self) -> CallIds:
        other = CallIds(self._model)
        other._used, other._counts = self._used.copy(), self._counts.copy()
        return other

    def __call__(self, identifier: str, message: AssistantMessage) -> str:
        """Return the id for the next call of the request."""
        call, _, item = identifier.partition("|")
        if not is_own(message, self._model):
            call, item = identifier, ""
        call = unique_id(_call_id(call, message), self._used, self._counts)
        if not item or item in self._used:
            return call
        self._used.add(item)
        return f"{call}|{item}"


def _call_id(identifier: str, message: AssistantMessage) -> str:
    if len(identifier) > LONGEST:
        return f"call_{_digest(identifier)[:32]}"
    return plain_id(identifier, message)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

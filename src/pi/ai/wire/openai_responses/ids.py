"""Identifiers as the server takes them: at most 64 characters of its alphabet. Pure."""

from __future__ import annotations

import hashlib
import re

from pi.ai.handoff import is_own, plain_id, unique_id
from pi.ai.messages import AssistantMessage
from pi.ai.models.model import Model

LONGEST = 64

_ITEM = r"([a-z]+)_[A-Za-z0-9_-]+"


def short_key(text: str) -> str:
    """``text``, or its hash where it is longer than a cache key or session id may be."""
    return text if len(text) <= LONGEST else _digest(text)


def item_id(identifier: str, kind: str) -> str:
    """``identifier`` where the server takes it for an item of ``kind`` (``msg``, ``fc``, ``ctc``).

    Gateways hand out ids of another form or of hundreds of characters; those become a hash.
    """
    found = re.fullmatch(_ITEM, identifier)
    if found is not None and found[1] == kind and len(identifier) <= LONGEST:
        return identifier
    return f"{kind}_{_digest(identifier)[:32]}"


class CallIds:
    """Turns the ids of tool calls into ``call_id|item_id`` that one request may hold.

    An item id is kept only for the model's own calls, which stand behind its own reasoning. Both
    parts are given once: servers refuse a second item with the same id.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._taken: set[str] = set()

    def __call__(self, identifier: str, message: AssistantMessage) -> str:
        """The id for the next call of the request."""
        call, _, item = identifier.partition("|")
        if not is_own(message, self._model):
            call, item = identifier, ""
        call = unique_id(_call_id(call, message), self._taken)
        if not item or item in self._taken:
            return call
        self._taken.add(item)
        return f"{call}|{item}"


def _call_id(identifier: str, message: AssistantMessage) -> str:
    if len(identifier) > LONGEST:
        return f"call_{_digest(identifier)[:32]}"
    return plain_id(identifier, message)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

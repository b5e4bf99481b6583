"""Keeps what a wire made of the messages of a session, so that a request converts only new ones.

Messages are immutable and the same objects in each request, so they are compared by identity. What
was made of them must not be changed: a request with a hook for its payload converts everything.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from operator import is_
from typing import Any, NamedTuple, TypeVar

import msgspec

from pi.ai.json_text import json_bytes
from pi.ai.messages import Message

M = TypeVar("M", bound=Message)
T = TypeVar("T")

MAX_SESSIONS = 32
"""Sessions whose conversions are kept; those used last."""


class Conversions:
    """The results of one conversion for the messages of a request, and of the one before.

    Messages that a request no longer has are forgotten.
    """

    __slots__ = ("_before", "settings", "values")

    def __init__(self, settings: object, before: dict[int, tuple[Any, object, Any]]) -> None:
        self.settings = settings
        self._before = before
        self.values: dict[int, tuple[Any, object, Any]] = {}

    def of(self, message: M, convert: Callable[[M], T], details: object = None) -> T:
        """Return ``convert(message)``, which also depends on the settings and ``details``."""
        key = id(message)
        cached = self._before.get(key)
        if cached is None or cached[0] is not message or cached[1] != details:
            cached = (message, details, convert(message))
        self.values[key] = cached
        value: T = cached[2]
        return value


class Beginning(NamedTuple):
    """The beginning of a conversation up to an answer, and its conversion.

    ``messages`` include the answer, ``converted`` does not: results before it are final only
    because it follows.
    """

    settings: object
    messages: Sequence[Message]
    converted: Any

    @property
    def length(self) -> int:
        """Number of messages that ``converted`` covers."""
        return max(len(self.messages) - 1, 0)


class KeptConversions:
    """The conversions of one session on one wire.

    Requests of a session may overlap: each has its own ``Conversions``, and reads those of the last
    one with the same settings.
    """

    def __init__(self) -> None:
        self._last: dict[str, Conversions] = {}
        self._beginnings: dict[str, Beginning] = {}

    def begin(self, kind: str, settings: object) -> Conversions:
        """Return the conversions of a new request."""
        last = self._last.get(kind)
        before = last.values if last is not None and last.settings == settings else {}
        self._last[kind] = conversions = Conversions(settings, before)
        return conversions

    def beginning(
        self, kind: str, settings: object, messages: Sequence[Message]
    ) -> Beginning | None:
        """Return the kept beginning of ``messages``, if they begin with the same objects."""
        beginning = self._beginnings.get(kind)
        if (
            beginning is None
            or len(beginning.messages) > len(messages)
            or beginning.settings != settings
        ):
            return None
        # Not ``==``: equal messages can have different JSON, such as 1 and 1.0.
        return beginning if all(map(is_, beginning.messages, messages)) else None

    def keep(self, kind: str, beginning: Beginning) -> None:
        """Keep a beginning for the next request. Its messages and result must not change."""
        self._beginnings[kind] = beginning


def conversions(kept: KeptConversions | None, kind: str, *settings: object) -> Conversions:
    """Return the conversions of a request, which depend on ``settings``."""
    return Conversions(settings, {}) if kept is None else kept.begin(kind, settings)


class KeptSessions:
    """The conversions of several sessions."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[tuple[str, str], KeptConversions] = OrderedDict()

    def of(self, session: str, api: str) -> KeptConversions:
        """Return those of a session on the wire of ``api``."""
        key = (session, api)
        kept = self._sessions.pop(key, None) or KeptConversions()
        self._sessions[key] = kept
        if len(self._sessions) > MAX_SESSIONS:
            self._sessions.popitem(last=False)
        return kept


def as_bytes(part: Any) -> Any:
    """Return a part of a body as its JSON, so that it is only copied into later bodies."""
    return msgspec.Raw(json_bytes(part))


def as_json(part: Any) -> Any:
    """Return a part of a body as a JSON value, also one that was kept as bytes."""
    return msgspec.json.decode(part) if isinstance(part, msgspec.Raw) else part

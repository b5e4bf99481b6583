"""Chained requests: send only the new items, and refer to the previous response.

The server keeps a response and the conversation that led to it. A request that continues it names
the response and leaves out the items that it covers. OpenAI's Responses and Anthropic's message
threads work like that, with other names.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from pi.ai.messages import Json
from pi.base.records import Record

MAX_CONVERSATIONS = 32
"""Limit of remembered conversations; the least recently used is dropped first."""


class Chain(ABC):
    """The last response of a conversation, and the request items that it covers."""

    def __init__(self) -> None:
        self.response = ""
        """The id of the response; empty before the first and after ``forget``."""
        self._settings: Json = {}
        self._items: list[Json] = []

    @abstractmethod
    def settings(self, payload: Json) -> Json:
        """Return everything of a request that has to stay the same."""

    @abstractmethod
    def items(self, payload: Json) -> list[Json]:
        """Return the conversation of a request, without what changes between requests."""

    @abstractmethod
    def continuing(self, payload: Json, covered: int) -> Json:
        """Return the request that continues ``response``, which covers so many items."""

    def shortened(self, payload: Json) -> Json:
        """Return ``payload`` with the new items only; unchanged if it does not continue the
        response."""
        items = self.items(payload)
        covered = len(self._items)
        follows = self.settings(payload) == self._settings and items[:covered] == self._items
        if not (self.response and follows and len(items) > covered):
            return payload
        return self.continuing(payload, covered)

    def has_covered(self, payload: Json) -> bool:
        """Whether the response covers the whole request, so that nothing is new."""
        return bool(self.response) and self.items(payload) == self._items

    def remember(self, payload: Json, output: list[Json], response: str) -> None:
        """Store the ``response`` to ``payload``; ``output`` is its items in the next request."""
        self._settings = self.settings(payload)
        self._items = [*self.items(payload), *output]
        self.response = response

    def forget(self) -> None:
        """Drop the response: the server no longer has it."""
        self.response = ""
        self._items = []


class Conversation(Record):
    """Identifies a conversation: requests with equal values may continue each other."""

    url: str
    account: str
    session: str


class Chains:
    """The chains of conversations; those that are not used are dropped."""

    def __init__(self, make: type[Chain]) -> None:
        self._make = make
        self._chains: dict[Conversation, Chain] = {}

    def of(self, conversation: Conversation) -> Chain:
        """Return the chain of a conversation, which is now the latest."""
        chain = self._chains.pop(conversation, None) or self._make()
        self._chains[conversation] = chain
        while len(self._chains) > MAX_CONVERSATIONS:
            del self._chains[next(iter(self._chains))]
        return chain

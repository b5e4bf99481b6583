"""Chained requests: send only the new items, and refer to the previous response.

The server keeps a response and the conversation that led to it. A request that continues it names
the response (``previous_response_id``) and leaves out the items that it covers. WebSockets to the
ChatGPT backend remember one response each; OpenAI's own API keeps stored ones.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from pi.ai.errors import BadRequest
from pi.ai.messages import Json
from pi.ai.request import Call
from pi.ai.wire_support.exchange import Services
from pi.base.records import Record

log = logging.getLogger(__name__)

STORING_HOST = "api.openai.com"
"""The host whose responses are stored and continued by default; see ``PI_OPENAI_STATEFUL``."""
LOST = "previous_response_not_found"
"""The error code for a response that expired, or was never stored, as with zero data retention."""
MAX_CONVERSATIONS = 32
"""Limit of remembered conversations; the least recently used is dropped first."""


class Chain:
    """The last response of a conversation, and the request items that it covers."""

    def __init__(self) -> None:
        self.response = ""
        """The id of the response; empty before the first and after ``forget``."""
        self._settings: Json = {}
        self._items: list[Json] = []

    def shortened(self, payload: Json) -> Json:
        """Return ``payload`` with the new items only; unchanged if it does not continue the
        response."""
        items = _items(payload)
        sent_count = len(self._items)
        follows = _settings(payload) == self._settings and items[:sent_count] == self._items
        if not (self.response and follows and len(items) > sent_count):
            return payload
        return {**payload, "previous_response_id": self.response, "input": items[sent_count:]}

    def remember(self, payload: Json, output: list[Json], response: str) -> None:
        """Store the ``response`` to ``payload``; ``output`` is its items in the next request."""
        self._settings = _settings(payload)
        self._items = [*_items(payload), *output]
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


class StoredResponses:
    """The chains of all conversations whose responses the server stores."""

    def __init__(self) -> None:
        self._chains: dict[Conversation, Chain] = {}
        self._refused: set[tuple[str, str]] = set()

    def can_store(self, conversation: Conversation) -> bool:
        """Whether the server is expected to have the stored responses."""
        return (conversation.url, conversation.account) not in self._refused

    async def deliver(
        self,
        conversation: Conversation,
        payload: Json,
        post: Callable[[Json], Awaitable[None]],
        read_response: Callable[[], tuple[list[Json], str]],
    ) -> None:
        """Post ``payload``, shortened if possible; a lost response costs one more request.

        ``read_response`` returns the output items and the id of the response once it is complete.
        """
        chain = self._chains.pop(conversation, None) or Chain()
        self._chains[conversation] = chain
        while len(self._chains) > MAX_CONVERSATIONS:
            del self._chains[next(iter(self._chains))]
        shortened = chain.shortened(payload)
        try:
            await post(shortened)
        except BadRequest as refusal:
            if shortened is payload or not _is_lost(refusal):
                raise
            log.info("sending the whole conversation: the server has lost %s", chain.response)
            # An account with zero data retention loses every response: chaining would cost a
            # refused request on every turn, so it ends for this account.
            self._refused.add((conversation.url, conversation.account))
            chain.forget()
            await post({**payload, "store": False})
            return
        chain.remember(payload, *read_response())


def is_stateful(call: Call, environ: Mapping[str, str]) -> bool:
    """Whether the server stores the responses of this call's conversation.

    Never without a session, nor if caching is off: no later call could continue its response. With
    a login to ChatGPT only if the variable says so: the original sends ``store: false`` then.
    """
    if not call.cached_session:
        return False
    setting = environ.get("PI_OPENAI_STATEFUL", "").strip().lower()
    if setting:
        return setting in ("1", "true", "yes", "on")
    return call.access.kind != "oauth" and urlsplit(call.base_url).hostname == STORING_HOST


def stored_responses(services: Services) -> StoredResponses:
    """Return the stored responses of ``services``, dropped together with them."""
    return _stored.setdefault(services.closing, StoredResponses())


_stored: WeakKeyDictionary[AsyncExitStack, StoredResponses] = WeakKeyDictionary()


def _is_lost(refusal: BadRequest) -> bool:
    return refusal.code == LOST or LOST in refusal.message


def _settings(payload: Json) -> Json:
    """Return everything but the conversation and HTTP-only fields."""
    return {name: value for name, value in payload.items() if name not in ("input", "stream")}


def _items(payload: Json) -> list[Json]:
    return list(payload.get("input") or ())

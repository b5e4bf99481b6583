"""Requests that continue the previous response (``previous_response_id``).

WebSockets to the ChatGPT backend remember one response each; OpenAI's own API keeps stored ones.
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
from pi.ai.wire_support.chaining import Chain, Chains, Conversation
from pi.ai.wire_support.exchange import Services

log = logging.getLogger(__name__)

STORING_HOST = "api.openai.com"
"""The host whose responses are stored and continued by default; see ``PI_OPENAI_STATEFUL``."""
LOST = "previous_response_not_found"
"""The error code for a response that expired, or was never stored, as with zero data retention."""


class ResponseChain(Chain):
    """A chain of Responses; ``previous_response_id`` names the last one."""

    def settings(self, payload: Json) -> Json:
        """Return everything but the conversation and HTTP-only fields."""
        return {name: value for name, value in payload.items() if name not in ("input", "stream")}

    def items(self, payload: Json) -> list[Json]:
        """Return the input."""
        return list(payload.get("input") or ())

    def continuing(self, payload: Json, covered: int) -> Json:
        """Return the request with the items after those that are covered."""
        new = self.items(payload)[covered:]
        return {**payload, "previous_response_id": self.response, "input": new}


class StoredResponses:
    """The chains of all conversations whose responses the server stores."""

    def __init__(self) -> None:
        self._chains = Chains(ResponseChain)
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
        chain = self._chains.of(conversation)
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

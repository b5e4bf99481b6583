"""Message threads: the server keeps the conversation, and requests continue its last answer.

On only with the flag ``supportsMessageThreads`` of a model: the protocol was observed from outside
and has not been tried with the real service.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from weakref import WeakKeyDictionary

from pi.ai.errors import BadRequest
from pi.ai.messages import Json
from pi.ai.request import Call
from pi.ai.wire.anthropic_messages.compat import Compat
from pi.ai.wire_support.chaining import Chain, Chains, Conversation
from pi.ai.wire_support.exchange import Services

log = logging.getLogger(__name__)

BETA = "message-threads-2026-08-12"
LOST = (
    "thread_not_found",
    "thread_already_continued",
    "thread_continue_in_flight",
    "thread_fingerprint_mismatch",
)
"""Refusals after which the whole conversation begins a new thread."""
UNSUPPORTED = "thread_unsupported_request"


def uses_threads(call: Call, compat: Compat) -> bool:
    """Whether the model's server keeps the conversation of this call's session."""
    return bool(call.cached_session) and compat.supports_message_threads is True


class ThreadChain(Chain):
    """A thread; the id of the last answer names it."""

    def settings(self, payload: Json) -> Json:
        """Return everything but the conversation; a change of it begins a new thread."""
        return {
            name: _unmarked(value)
            for name, value in payload.items()
            if name not in ("messages", "stream")
        }

    def items(self, payload: Json) -> list[Json]:
        """Return the messages without cache marks, which move with every request."""
        return [_plain(message) for message in payload["messages"]]

    def continuing(self, payload: Json, covered: int) -> Json:
        """Return the request with the new messages; the server has prompt and tools."""
        known = ("system", "tools", "messages")
        return {
            **{name: value for name, value in payload.items() if name not in known},
            "messages": payload["messages"][covered:],
            "thread": {"type": "continue", "previous_message_id": self.response},
        }


class Threads:
    """The threads of all conversations."""

    def __init__(self) -> None:
        self._chains = Chains(ThreadChain)
        self._unsupported: set[Conversation] = set()
        """Sessions whose requests the server does not accept in threads."""

    async def deliver(
        self,
        conversation: Conversation,
        payload: Json,
        post: Callable[[Json], Awaitable[None]],
        read_answer: Callable[[], tuple[Json, str]],
    ) -> None:
        """Post ``payload`` in a thread; a lost thread costs one more request.

        ``read_answer`` returns the answer as a message of the next request, and its id. A request
        without anything new, which only keeps the cache warm, does not touch the thread.
        """
        chain = self._chains.of(conversation)
        if conversation in self._unsupported or chain.has_covered(payload):
            await post(payload)
            return
        betas = [*payload.get("betas", ()), BETA]
        whole = {**payload, "betas": betas, "thread": {"type": "create"}}
        shortened = chain.shortened(payload)
        first = whole if shortened is payload else {**shortened, "betas": betas}
        try:
            await self._post_or_begin(first, whole, post)
        except BadRequest as refusal:
            chain.forget()
            if not _is_unsupported(refusal):
                raise
            log.info("sending the conversation without a thread: %s", refusal.message)
            self._unsupported.add(conversation)
            await post(payload)
            return
        answer, id = read_answer()
        chain.remember(payload, [_plain(answer)], id)

    async def _post_or_begin(
        self, first: Json, whole: Json, post: Callable[[Json], Awaitable[None]]
    ) -> None:
        try:
            await post(first)
        except BadRequest as refusal:
            if first is whole or not any(_has_code(refusal, code) for code in LOST):
                raise
            log.info("beginning a new thread: %s", refusal.message)
            await post(whole)


def threads_of(services: Services) -> Threads:
    """Return the threads of ``services``, dropped together with them."""
    return _threads.setdefault(services.closing, Threads())


_threads: WeakKeyDictionary[AsyncExitStack, Threads] = WeakKeyDictionary()


def _has_code(refusal: BadRequest, code: str) -> bool:
    return refusal.code == code or code in refusal.message


def _is_unsupported(refusal: BadRequest) -> bool:
    if _has_code(refusal, UNSUPPORTED):
        return True
    is_lost = any(_has_code(refusal, code) for code in LOST)
    return not is_lost and "thread" in refusal.message.lower()


def _plain(message: Json) -> Json:
    """Return a message in one form: only a marked text has to be a block."""
    content = message["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return {**message, "content": _unmarked(blocks)}


def _unmarked(value: object) -> object:
    """Return a part of a request without its cache marks."""
    match value:
        case dict():
            return {
                name: _unmarked(part) for name, part in value.items() if name != "cache_control"
            }
        case list():
            return [_unmarked(part) for part in value]
        case _:
            return value

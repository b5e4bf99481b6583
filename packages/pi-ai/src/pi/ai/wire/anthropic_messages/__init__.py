"""Anthropic's Messages API, also as other servers offer it.

``compat`` holds the quirks of servers; ``request`` builds the body with ``history``, ``tools`` and
``thinking``; ``repairs`` selects the repair after a rejection that would otherwise recur on every
later turn; ``response`` decodes.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from pi.ai.builder import MessageBuilder
from pi.ai.event_stream import Flush
from pi.ai.messages import Json
from pi.ai.request import Call
from pi.ai.wire.anthropic_messages.compat import compat_of
from pi.ai.wire.anthropic_messages.repairs import next_repair
from pi.ai.wire.anthropic_messages.request import encode, headers, url
from pi.ai.wire.anthropic_messages.thinking import interleaves, plan_thinking, provider_level
from pi.ai.wire.anthropic_messages.threads import threads_of, uses_threads
from pi.ai.wire_support.chaining import Conversation
from pi.ai.wire_support.exchange import Decoder, Services, send
from pi.ai.wire_support.repairs import send_with_repairs
from pi.base.records import replace

if TYPE_CHECKING:
    from pi.ai.auth.anthropic_identity import WorkloadIdentity
    from pi.ai.http.client import HttpClient


_identities: WeakKeyDictionary[HttpClient, WorkloadIdentity] = WeakKeyDictionary()


async def with_identity(call: Call, services: Services) -> Call:
    """Return ``call`` with an access token of the workload identity, if that is its credential."""
    if call.access.kind != "ambient" or call.access.api_key:
        return call
    from pi.ai.auth.anthropic_identity import WorkloadIdentity  # lazy: few have one

    environ = {**services.environ, **call.access.env, **(call.options.env or {})}
    identity = _identities.setdefault(services.http, WorkloadIdentity())
    token = await identity.access_token(environ, call.base_url, services.http, services.clock)
    return replace(call, access=replace(call.access, api_key=token, kind="oauth"))


async def answer(call: Call, builder: MessageBuilder, flush: Flush, services: Services) -> None:
    """Send the request, and fill ``builder`` until its message is final.

    A rejected signature or tool schema is left out and the request sent again at once. A diagnostic
    of the message records it, and later turns leave out the same thinking and strictness.
    """
    call = await with_identity(call, services)
    compat = compat_of(call)
    in_thread = uses_threads(call, compat)
    if in_thread:
        # A thread compares all messages with those that the server has: as values, not as bytes.
        call = replace(call, kept=None)
    if (level := provider_level(plan_thinking(call, compat), compat)) is not None:
        builder.thinking_level = level

    def decoder() -> Decoder:
        # Lazy: loaded while the server answers.
        from pi.ai.wire.anthropic_messages.response import MessagesDecoder

        return MessagesDecoder(builder)

    async def deliver(payload: Json) -> None:
        await send(
            call,
            {name: value for name, value in payload.items() if name != "betas"},
            url=url(call),
            headers=headers(call, payload.get("betas", ())),
            decoder=decoder,
            builder=builder,
            flush=flush,
            services=services,
        )

    encoded = partial(encode, call, interleaved=interleaves(services.environ))

    def read_answer() -> tuple[Json, str]:
        messages = (*call.messages, builder.message("stop"))
        body = encode(replace(call, messages=messages), interleaved=interleaves(services.environ))
        answers = (m for m in reversed(body["messages"]) if m["role"] == "assistant")
        return next(answers), builder.response_id or ""

    async def deliver_in_thread(payload: Json) -> None:
        conversation = Conversation(
            url=url(call), account=call.access.api_key or "", session=call.cached_session or ""
        )
        await threads_of(services).deliver(conversation, payload, deliver, read_answer)

    await send_with_repairs(
        call,
        builder,
        services.clock,
        encode=encoded,
        deliver=deliver_in_thread if in_thread else deliver,
        next_repair=next_repair,
    )

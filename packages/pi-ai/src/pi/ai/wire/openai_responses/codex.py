"""ChatGPT backend variant of Responses, for users with a subscription.

Over server-sent events, or over a WebSocket that stays open between turns and then needs only the
new items of the conversation.
"""

from __future__ import annotations

import logging
from base64 import b64decode
from collections.abc import Mapping
from functools import partial

import msgspec

from pi.ai.builder import MessageBuilder
from pi.ai.errors import AuthenticationFailed
from pi.ai.event_stream import Flush
from pi.ai.http.request import Timeouts
from pi.ai.http.user_agent import user_agent
from pi.ai.messages import Json
from pi.ai.request import Call
from pi.ai.wire.openai_responses.codex_sockets import Address, sockets_of
from pi.ai.wire.openai_responses.codex_websocket import SocketLost, SocketRequest
from pi.ai.wire.openai_responses.compat import Compat, read_compat
from pi.ai.wire.openai_responses.identifiers import short_key
from pi.ai.wire.openai_responses.request import (
    ENCRYPTED_REASONING,
    answer_items,
    bearer,
    collect_parts,
    reasoning_field,
)
from pi.ai.wire.openai_responses.responses_call import ResponsesCall
from pi.ai.wire.openai_responses.tools import tool_choice
from pi.ai.wire_support.exchange import MAX_BACKOFF, Services, final_headers, timeouts
from pi.ai.wire_support.repairs import NO_REPAIRS, Repairs
from pi.base.records import UNREADABLE, replace

log = logging.getLogger(__name__)

NO_PROMPT = "You are a helpful assistant."
"""The backend rejects a request without instructions."""

CLAIM = "https://api.openai.com/auth"
"""The claim of the login's token that names the account."""

CONNECT_SECONDS = 15.0
"""Default timeout for opening a WebSocket."""

RETRY_BUDGET = 5
"""Retries with a WebSocket before the turn goes over HTTP."""
MAX_RETRIES = 100
"""Upper limit of the retry budget."""
RETRY_DELAY_MS = 500
"""The delay before the first retry."""

SSE_PROTOCOL = "responses=experimental"
WEBSOCKET_PROTOCOL = "responses_websockets=2026-02-06"


async def answer(call: Call, builder: MessageBuilder, flush: Flush, services: Services) -> None:
    """Send the request over the transport of the options, and fill ``builder``."""
    responses_call = ResponsesCall(call, builder, flush, services)
    await responses_call.ask(
        encode=partial(encode, call), deliver=partial(_deliver, responses_call)
    )


async def _deliver(responses_call: ResponsesCall, payload: Json) -> None:
    call, environ = responses_call.call, responses_call.services.environ
    sockets = sockets_of(responses_call.services)
    preferred = environ.get("PI_CODEX_WEBSOCKET", "").strip().lower() in ("1", "true")
    if sockets.should_use(call.options.transport, preferred=preferred):
        log.debug("asking %s over a WebSocket: %d items", call.model.id, len(payload["input"]))
        try:
            await sockets.converse(_address(call), _turn(responses_call, payload))
            return
        except SocketLost as error:
            log.info("asking over HTTP, as the WebSocket cannot be used: %s", error)
    log.debug("asking %s over HTTP: %d items", call.model.id, len(payload["input"]))
    await responses_call.post(payload, url=url(call), headers=headers(call))


def encode(call: Call, repairs: Repairs = NO_REPAIRS) -> Json:
    """Return the body."""
    compat = _compat(call)
    material = collect_parts(call, compat, repairs)
    body: Json = {
        "model": call.model.id,
        "store": False,
        "stream": True,
        "instructions": material.prompt or NO_PROMPT,
        "input": material.items,
        "text": {"verbosity": "low"},
        "include": [ENCRYPTED_REASONING],
    }
    if call.cached_session:
        body["prompt_cache_key"] = short_key(call.cached_session)
    if call.options.temperature is not None:
        body["temperature"] = call.options.temperature
    if material.toolbox.names:
        body["tool_choice"] = tool_choice(call.options.tool_choice, material.toolbox) or "auto"
        body["parallel_tool_calls"] = True
    if material.toolbox.first:
        body["tools"] = list(material.toolbox.first)
    reasoning = reasoning_field(call, compat)
    if reasoning is not None:
        body["reasoning"] = reasoning
    return body | call.sampling


def url(call: Call) -> str:
    """Return the URL."""
    return f"{call.base_url}/codex/responses"


def headers(call: Call) -> dict[str, str]:
    """The headers of a request over HTTP."""
    return {
        **_identity(call),
        "openai-beta": SSE_PROTOCOL,
        "content-type": "application/json",
    }


def account_id(call: Call) -> str:
    """Return the account that is billed: from the login, or from the token."""
    account = call.access.env.get("accountId") or _claimed_account(call.access.api_key or "")
    if not account:
        raise AuthenticationFailed(
            "The ChatGPT login does not say which account it is for.",
            hint="Log in again with /login openai-codex.",
        )
    return account


def _identity(call: Call) -> dict[str, str]:
    session = call.options.session_id
    same = short_key(session) if session else ""
    return {
        **bearer(call),
        "chatgpt-account-id": account_id(call),
        "originator": "pi",
        "user-agent": user_agent(),
        **({"session-id": same, "x-client-request-id": same} if same else {}),
    }


def _claimed_account(token: str) -> str | None:
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        claims = msgspec.json.decode(b64decode(parts[1] + "==", altchars=b"-_"), type=Json)
    except (ValueError, *UNREADABLE):
        return None
    auth = claims.get(CLAIM)
    account = auth.get("chatgpt_account_id") if isinstance(auth, dict) else None
    return account if isinstance(account, str) else None


def _compat(call: Call) -> Compat:
    return replace(read_compat(call.model), loose_tools=None)


def _turn(responses_call: ResponsesCall, payload: Json) -> SocketRequest:
    call, builder = responses_call.call, responses_call.builder
    protocol = {"openai-beta": WEBSOCKET_PROTOCOL}
    wait = call.options.websocket_connect_timeout_ms
    environ = responses_call.services.environ
    patience = timeouts(call, environ) or Timeouts()
    idle = _number(environ, "PI_CODEX_WEBSOCKET_IDLE_TIMEOUT_MS")
    return SocketRequest(
        payload=payload,
        headers=final_headers(call, {**_identity(call), **protocol}),
        decoder=responses_call.decoder(),
        builder=builder,
        flush=responses_call.flush,
        output=lambda: answer_items(call, _compat(call), builder.message()),
        connect_seconds=CONNECT_SECONDS if wait is None else wait / 1000 or None,
        idle_seconds=idle / 1000 if idle else patience.limit("idle"),
        retries=_retries(environ),
    )


def _retries(environ: Mapping[str, str]) -> tuple[float, ...]:
    """Return the seconds before each retry with a WebSocket, doubled every time."""
    base = _number(environ, "PI_CODEX_WEBSOCKET_RETRY_DELAY_MS") or RETRY_DELAY_MS
    budget = _number(environ, "PI_CODEX_WEBSOCKET_RETRY_BUDGET")
    attempts = RETRY_BUDGET if budget is None else min(budget, MAX_RETRIES)
    return tuple(min(base * 2**attempt / 1000, MAX_BACKOFF) for attempt in range(attempts))


def _number(environ: Mapping[str, str], name: str) -> int | None:
    """Return a variable that is a whole number, not negative; ``None`` for everything else."""
    text = environ.get(name, "").strip()
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None


def _address(call: Call) -> Address:
    return Address(
        url=url(call).replace("http", "ws", 1),
        account=account_id(call),
        session=call.options.session_id or "",
    )

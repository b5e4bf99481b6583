"""Sends the requests of the providers, one after the other until one answers."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from pi.batteries.web_search.accounts import Accounts
from pi.batteries.web_search.providers import PROVIDERS
from pi.batteries.web_search.search import (
    MAX_ERROR,
    Account,
    ArgumentsRefused,
    Provider,
    Query,
    SearchCall,
    SearchFailed,
    SearchReply,
    SearchResponse,
    at,
    cut,
    explain,
    rows_at,
    text_at,
)
from pi.extension import Clock, ExtensionAPI, PiError, Record

SECONDS = 60.0
"""Time for all requests to one provider, retries included."""
MAX_BODY = 8 * 1024**2
MAX_ERROR_BODY = 64 * 1024
RETRY_SECONDS = 1.0
"""Delay before the first retry; doubled for each further one."""
_DURATION = re.compile(r"(\d+(?:\.\d+)?)s")


class SearchOutcome(Record):
    """The result of a chain: an answer, or what each provider failed with."""

    response: SearchResponse | None = None
    failures: tuple[tuple[str, str], ...] = ()
    """Label and message of each provider that failed."""
    last: str = "none"
    """The provider that was asked last."""


class Chain:
    """Asks providers in order. A provider that fails or finds nothing is followed by the next."""

    def __init__(
        self,
        pi: ExtensionAPI,
        accounts: Accounts,
        *,
        seconds: float = SECONDS,
        clock: Clock | None = None,
    ) -> None:
        self._pi = pi
        self._clock = clock or pi.scope.clock
        self._accounts = accounts
        self._seconds = seconds

    async def search(
        self, query: Query, preferred: str, asking: Callable[[str], None]
    ) -> SearchOutcome:
        """Search with ``preferred`` first, unless it is ``auto``; ``asking`` gets each name."""
        failures: list[tuple[str, str]] = []
        last = "none"
        for name in order(preferred):
            provider = PROVIDERS[name]
            try:
                account = await self._accounts.find(name, explicit=name == preferred)
                if account is None:
                    continue
                last = name
                asking(name)
                response = await self.ask(provider, account, query)
            except SearchFailed as error:
                last = name
                failures.append((provider.label, explain(error, provider.label)))
                continue
            return SearchOutcome(response=response, failures=tuple(failures), last=name)
        return SearchOutcome(failures=tuple(failures), last=last)

    async def ask(self, provider: Provider, account: Account, query: Query) -> SearchResponse:
        """The answer of one provider within its time; raises ``SearchFailed``."""
        try:
            async with asyncio.timeout(self._seconds):
                response = await self._first_accepted(provider, account, query)
        except TimeoutError as error:
            message = f"{provider.label} did not answer within {self._seconds:g} s."
            raise SearchFailed(provider.name, message) from error
        if response.is_empty:
            raise SearchFailed(provider.name, f"{provider.label} found nothing.")
        return response

    async def _first_accepted(
        self, provider: Provider, account: Account, query: Query
    ) -> SearchResponse:
        calls = provider.calls(query, account)
        for call in calls[:-1]:
            try:
                return provider.parse(await self._answer(provider, account, call), query, account)
            except ArgumentsRefused:
                continue
        return provider.parse(await self._answer(provider, account, calls[-1]), query, account)

    async def _answer(self, provider: Provider, account: Account, call: SearchCall) -> SearchReply:
        reply = await self._retried(provider, account, call)
        while provider.follow is not None and (after := provider.follow(call, reply)) is not None:
            call = after
            reply = await self._retried(provider, account, call)
        return reply

    async def _retried(self, provider: Provider, account: Account, call: SearchCall) -> SearchReply:
        clock = self._clock
        started = clock.monotonic()
        for attempt in range(provider.retries):
            try:
                return await self._send(provider, account, call)
            except SearchFailed as error:
                if error.status != 429 and (error.status or 0) < 500:
                    raise
                delay = error.retry_after
                if delay is None:
                    delay = RETRY_SECONDS * 2**attempt
                if clock.monotonic() - started + delay >= self._seconds:
                    raise  # another provider answers sooner
                await clock.sleep(delay)
        return await self._send(provider, account, call)

    async def _send(self, provider: Provider, account: Account, call: SearchCall) -> SearchReply:
        headers = {
            "User-Agent": f"pi/{self._pi.version}",
            "Accept": "application/json",
            **call.headers,
            **account.headers,
        }
        body = b""
        if call.body is not None:
            headers["Content-Type"] = "application/json"
            body = json.dumps(call.body, ensure_ascii=False).encode()
        try:
            async with self._pi.http.stream(
                call.url, method=call.method, headers=headers, body=body, limit=MAX_BODY
            ) as response:
                named = {key.lower(): value for key, value in response.headers}
                if response.status != 200:
                    text = await response.read_prefix(MAX_ERROR_BODY)
                    now = self._clock.now_ms() / 1000
                    raise refusal(provider, response.status, named, text, now)
                if named.get("content-type", "").startswith("text/event-stream"):
                    return SearchReply(events=await _events(provider, response), headers=named)
                data = await response.read(limit=MAX_BODY)
        except SearchFailed:
            raise
        except PiError as error:
            message = f"{provider.label} could not be asked: {error.message}"
            raise SearchFailed(provider.name, message) from error
        return SearchReply(body=_decoded(provider, data), headers=named)


def order(preferred: str) -> list[str]:
    """The names of all providers, the preferred one first."""
    first = [preferred] if preferred in PROVIDERS else []
    return [*first, *(name for name in PROVIDERS if name != preferred)]


async def _events(provider: Provider, response: Any) -> tuple[Any, ...]:
    from pi.extension import SseReader  # lazy, like the HTTP client

    reader, events = SseReader(), list[Any]()

    def take(found: Sequence[tuple[str, bytes]]) -> None:
        done = (b"", b"[DONE]")
        events.extend(_decoded(provider, data) for _, data in found if data.strip() not in done)

    async for chunk in response:
        take(reader.feed(chunk))
    take(reader.finish())
    return tuple(events)


def _decoded(provider: Provider, data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        message = f"{provider.label} answered with something that is not JSON."
        raise SearchFailed(provider.name, message) from error


def refusal(
    provider: Provider, status: int, headers: dict[str, str], data: bytes, now: float
) -> SearchFailed:
    """The failure that an HTTP status means."""
    try:
        body = json.loads(data)
    except (ValueError, RecursionError):
        body = None
    reason = (
        text_at(body, "error", "message")
        or text_at(body, "message")
        or text_at(body, "detail")
        or text_at(body, "error")
        or text_at(body, "detail", "error")
    )
    wait = retry_after(headers.get("retry-after", ""), now)
    wait = _stated_delay(body) if wait is None else wait
    later = f" Retry after {wait:g} s." if wait is not None else ""
    shown = f": {cut(' '.join(reason.split()), MAX_ERROR).rstrip('.')}" if reason else ""
    message = f"{provider.label} API error ({status}){shown}.{later}"
    return SearchFailed(provider.name, message, status=status, retry_after=wait)


def retry_after(value: str, now: float) -> float | None:
    """The seconds of a ``Retry-After`` header, which may be a date."""
    if not value.strip():
        return None
    try:
        return max(float(value), 0.0)
    except ValueError:
        pass
    from email.utils import parsedate_to_datetime  # lazy: 10 ms, and dates are rare

    try:
        return max(round(parsedate_to_datetime(value).timestamp() - now), 0.0)
    except ValueError:
        return None


def _stated_delay(body: Any) -> float | None:
    """The delay in the body of a Google error."""
    for detail in rows_at(body, "error", "details") or rows_at(at(body, 0), "error", "details"):
        if found := _DURATION.fullmatch(text_at(detail, "retryDelay")):
            return float(found[1])
    return None

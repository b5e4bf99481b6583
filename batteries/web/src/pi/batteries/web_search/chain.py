"""Searches with one provider after the other, until one answers."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

from pi.batteries.web_search.accounts import Accounts, explain
from pi.batteries.web_search.json_values import cut, rows_at, text_at, value_at
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
)
from pi.extension import (
    Clock,
    ExtensionAPI,
    PiError,
    Record,
)

SECONDS = 60.0
"""Time for all requests to one provider, retries included."""
MAX_BODY = 8 * 1024**2
MAX_ERROR_BODY = 64 * 1024
RETRY_SECONDS = 1.0
"""Delay before the first retry; doubled for each further one."""


_UNITS = (("y", 31_536_000), ("mo", 2_592_000), ("w", 604_800), ("d", 86_400), ("h", 3600))
_DURATION = re.compile(r"(\d+(?:\.\d+)?)s")


class SearchOutcome(Record):
    """The result of a chain: an answer, or the failures of all providers."""

    response: SearchResponse | None = None
    failures: tuple[tuple[str, str], ...] = ()
    """Label and message of each provider that failed."""
    last: str = "none"
    """The name of the provider that was tried last."""


class Chain:
    """Tries providers in order until one returns results."""

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
        """Search with ``preferred`` first, unless it is ``auto``.

        ``asking`` is called with the name of each provider before its request.
        """
        from pi.batteries.web_search.providers import PROVIDERS  # deferred: fourteen providers

        failures: list[tuple[str, str]] = []
        last = "none"
        for name in order(preferred, PROVIDERS):
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
        """The answer of one provider. Raises ``SearchFailed``, also after a timeout."""
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
        reply = await self._send_with_retries(provider, account, call)
        while provider.follow is not None and (after := provider.follow(call, reply)) is not None:
            call = after
            reply = await self._send_with_retries(provider, account, call)
        return reply

    async def _send_with_retries(
        self, provider: Provider, account: Account, call: SearchCall
    ) -> SearchReply:
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
        return SearchReply(body=_decode_json(provider, data), headers=named)


def summary(failures: Sequence[tuple[str, str]]) -> str:
    """All failures as one message."""
    if len(failures) == 1:
        return failures[0][1]
    listed_failures = "; ".join(f"{label}: {message}" for label, message in failures)
    return f"All web search providers failed: {listed_failures}"


def order(preferred: str, names: Collection[str]) -> list[str]:
    """The names of all providers, the preferred one first."""
    first = [preferred] if preferred in names else []
    return [*first, *(name for name in names if name != preferred)]


async def _events(provider: Provider, response: Any) -> tuple[Any, ...]:
    from pi.extension import SseReader  # deferred, like the HTTP client

    reader, events = SseReader(), list[Any]()

    def collect(events_read: Sequence[tuple[str, bytes]]) -> None:
        done = (b"", b"[DONE]")
        events.extend(
            _decode_json(provider, data) for _, data in events_read if data.strip() not in done
        )

    async for chunk in response:
        collect(reader.feed(chunk))
    collect(reader.finish())
    return tuple(events)


def _decode_json(provider: Provider, data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        message = f"{provider.label} answered with something that is not JSON."
        raise SearchFailed(provider.name, message) from error


def refusal(
    provider: Provider, status: int, headers: dict[str, str], data: bytes, now: float
) -> SearchFailed:
    """The failure for an HTTP status other than 200."""
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
    reason_text = f": {cut(' '.join(reason.split()), MAX_ERROR).rstrip('.')}" if reason else ""
    message = f"{provider.label} API error ({status}){reason_text}.{later}"
    return SearchFailed(provider.name, message, status=status, retry_after=wait)


def retry_after(value: str, now: float) -> float | None:
    """The seconds of a ``Retry-After`` header, also of a date; ``None`` if empty or invalid."""
    if not value.strip():
        return None
    try:
        return max(float(value), 0.0)
    except ValueError:
        pass
    from email.utils import parsedate_to_datetime  # deferred: 10 ms, and dates are rare

    try:
        return max(round(parsedate_to_datetime(value).timestamp() - now), 0.0)
    except ValueError:
        return None


def _stated_delay(body: Any) -> float | None:
    """The delay in the body of a Google error."""
    for detail in rows_at(body, "error", "details") or rows_at(
        value_at(body, 0), "error", "details"
    ):
        if match := _DURATION.fullmatch(text_at(detail, "retryDelay")):
            return float(match[1])
    return None

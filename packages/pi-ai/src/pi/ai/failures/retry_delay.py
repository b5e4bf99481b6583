"""The retry delay that a failed response requests. Pure.

Relative delays take precedence over timestamps: they do not depend on two clocks and a time zone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta, timezone

from pi.ai.failures.details import MAX_DEPTH, all_strings
from pi.ai.http.response_parser import Headers
from pi.ai.messages import Json

_AMOUNT = (
    r"(\d+(?:\.\d+)?)\s*"
    r"(ms|millisecond|s|sec|second|m|min|minute|h|hr|hour|d|day|w|wk|week)s?(?![a-z])"
)

_DURATION = rf"{_AMOUNT}(?:[\s,]*(?:and\s+)?{_AMOUNT})*"

_DELAY_IN_TEXT = (
    r"(?:again in|again after|retry in|retry after|resets? in|available in|back in|wait(?: for)?)"
    r"\s+"
    rf"(?:about\s+)?(?P<wait>{_DURATION}|\d+(?:\.\d+)?(?!\s*[a-z]|\.?\d))"
)

_STAMP = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:\s?Z|\s?[+-]\d\d:?\d\d|\s?UTC)?"

_STAMP_IN_TEXT = (
    rf"(?:resets?|again|retry|available)(?: again)? (?:at|after|on)\s+(?P<stamp>{_STAMP})"
    rf"|将在\s*(?P<chinese>{_STAMP})\s*重置"
)

_DATE_IN_TEXT = (
    r"(?:resets?|regain access|again|available) on\s+"
    r"(?P<date>\d{4}-\d\d-\d\d|[a-z]{3,9}\.? \d{1,2}(?:st|nd|rd|th)?,? \d{4})"
    r"(?:,?(?: at)? (?P<hour>\d{1,2}):(?P<minute>\d\d)(?::\d\d)?\s?(?P<half>[ap]m)?)?"
)
"""A date in words, at midnight if it has no time; without a zone it is read as UTC."""

_ZAI = r"\[13\d\d\]|将在"

_RESET_HEADER = r"(?:x-)?ratelimit-reset(?:-[a-z-]+)?|(?:anthropic|x)-ratelimit-[a-z-]+-reset"

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}

_BEIJING = timezone(timedelta(hours=8))

_EPOCH_SECONDS, _EPOCH_MILLISECONDS = 1e9, 1e11
"""Larger numbers are not durations: they count from 1970."""

_DELAY_HEADERS = (("retry-after-ms", 0.001), ("x-ms-retry-after-ms", 0.001), ("retry-after", 1.0))

_DELAY_FIELDS = (
    ("retry_after_ms", 0.001),
    ("retryAfterMs", 0.001),
    ("retry_after", 1.0),
    ("retryAfter", 1.0),
    ("retry_after_seconds", 1.0),
    ("resets_in_seconds", 1.0),
    ("retryDelay", 1.0),
    ("resets_at", 1.0),
    ("reset_at", 1.0),
    ("resetsAt", 1.0),
    ("quota_reset_date", 1.0),
)


def retry_after(headers: Headers, error: Json | str, now_ms: int | None) -> float | None:
    """Return the seconds to wait before a retry, from any field or text; never negative.

    Without ``now_ms`` only relative delays can be understood.
    """
    delay = requested_delay(headers, error, now_ms)
    return _limit_reset(headers, now_ms) if delay is None else delay


def requested_delay(headers: Headers, error: Json | str, now_ms: int | None) -> float | None:
    """Like ``retry_after``, but without the state of rate limits, which many responses carry."""
    delay = _first(_in_headers(headers, now_ms))
    if delay is None and isinstance(error, dict):
        delay = _first(_in_object(error, now_ms, MAX_DEPTH))
    if delay is None:
        zone = _zone_of(error)
        delay = _first(_in_text(text, now_ms, zone) for text in all_strings(error))
    return delay


def _zone_of(error: Json | str) -> timezone:
    """Return the zone of timestamps without one: that of z.ai's codes is Beijing."""
    code = str(error.get("code", "")) if isinstance(error, dict) else ""
    return _BEIJING if re.fullmatch(r"13\d\d", code) else UTC


def absolute_seconds(value: str, now_ms: int | None) -> float | None:
    """Return the seconds until a timestamp, in any form of a header."""
    return _wait(value, now_ms)


def _first(waits: Iterable[float | None]) -> float | None:
    return next((wait for wait in waits if wait is not None), None)


def _in_headers(headers: Headers, now_ms: int | None) -> Iterator[float | None]:
    for name, scale in _DELAY_HEADERS:
        for value in headers.get_all(name):
            yield _scaled(value, scale, now_ms)


def _limit_reset(headers: Headers, now_ms: int | None) -> float | None:
    """Return when the exhausted limits are reset; without exhausted ones, the next reset."""
    resets: list[float] = []
    used_up: list[float] = []
    for name, value in headers:
        if not re.fullmatch(_RESET_HEADER, name) or (wait := _wait(value, now_ms)) is None:
            continue
        resets.append(wait)
        if headers.get(name.replace("reset", "remaining")).strip() in ("0", "0.0"):
            used_up.append(wait)
    return max(used_up) if used_up else min(resets, default=None)


def _in_object(error: Json, now_ms: int | None, depth: int) -> Iterator[float | None]:
    for name, scale in _DELAY_FIELDS:
        yield _scaled(error.get(name), scale, now_ms)
    # OpenRouter passes on the upstream's headers
    if isinstance(headers := error.get("headers"), Mapping):
        pairs = Headers((name, str(value)) for name, value in headers.items())
        yield retry_after(pairs, "", now_ms)
    if depth:
        for inner in _children(error):
            if isinstance(inner, dict):
                yield from _in_object(inner, now_ms, depth - 1)


def _children(error: Json) -> Iterator[object]:
    for value in error.values():
        if isinstance(value, list):
            yield from value
        else:
            yield value


def _in_text(text: str, now_ms: int | None, zone: timezone) -> float | None:
    if match := re.search(_DELAY_IN_TEXT, text, re.IGNORECASE):
        return _wait(match["wait"], now_ms)
    if match := re.search(_STAMP_IN_TEXT, text, re.IGNORECASE):
        # z.ai's timestamps are in Beijing time without a zone; read as UTC they are eight hours
        # late.
        zone = _BEIJING if re.search(_ZAI, text) else zone
        return _until(match["stamp"] or match["chinese"], now_ms, zone)
    if match := re.search(_DATE_IN_TEXT, text, re.IGNORECASE):
        return _until_date(match, now_ms)
    return None


def _until_date(match: re.Match[str], now_ms: int | None) -> float | None:
    """Return the seconds until ``2026-05-01 at 00:00`` or ``April 20, 2026 at 2:00 AM``."""
    from email.utils import parsedate_tz  # lazy, as below

    hour, minute = int(match["hour"] or 0), int(match["minute"] or 0)
    if half := match["half"]:
        hour = hour % 12 + (12 if half.lower() == "pm" else 0)
    date = match["date"]
    if not date[0].isdigit():
        day, year = re.findall(r"\d+", date)
        parts = parsedate_tz(f"{day} {date[:3]} {year} 00:00:00")
        date = "" if parts is None else f"{parts[0]:04}-{parts[1]:02}-{parts[2]:02}"
    return _until(f"{date}T{hour:02}:{minute:02}", now_ms, UTC)


def _scaled(value: object, scale: float, now_ms: int | None) -> float | None:
    """Parse a field whose plain number is a duration in units of ``scale`` seconds."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    except ValueError:
        return _wait(str(value), now_ms)
    return _from_number(number if number >= _EPOCH_SECONDS else number * scale, now_ms)


def _wait(value: str, now_ms: int | None) -> float | None:
    """Return the seconds in ``value``: a number, a duration, or a timestamp."""
    value = value.strip()
    if not value:
        return None
    try:
        return _from_number(float(value), now_ms)
    except ValueError:
        pass
    if re.fullmatch(_DURATION, value, re.IGNORECASE):
        parts = re.findall(_AMOUNT, value, re.IGNORECASE)
        return _finite(sum(float(amount) * _unit(unit) for amount, unit in parts))
    return _until(value, now_ms, UTC)


def _unit(name: str) -> float:
    name = name.lower()
    return _SECONDS["ms"] if name.startswith(("ms", "milli")) else _SECONDS[name[0]]


def _from_number(number: float, now_ms: int | None) -> float | None:
    if not math.isfinite(number):
        return None
    if number < _EPOCH_SECONDS:
        return max(number, 0.0)
    moment_ms = number if number >= _EPOCH_MILLISECONDS else number * 1000
    return None if now_ms is None else max((moment_ms - now_ms) / 1000, 0.0)


def _until(stamp: str, now_ms: int | None, zone: timezone) -> float | None:
    moment = _moment(stamp, zone)
    return None if moment is None or now_ms is None else max(moment - now_ms / 1000, 0.0)


def _moment(stamp: str, zone: timezone) -> float | None:
    """Return seconds since 1970 of an ISO timestamp, in ``zone`` by default, or of an HTTP
    date."""
    try:
        moment = datetime.fromisoformat(stamp.replace("UTC", "Z").replace(" Z", "Z"))
        return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).timestamp()
    except (ValueError, OverflowError):
        return _http_date(stamp)


def _http_date(stamp: str) -> float | None:
    from email.utils import mktime_tz, parsedate_tz  # lazy: 10 ms for a rare header

    try:
        parts = parsedate_tz(stamp)
        return None if parts is None else float(mktime_tz(parts))
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _finite(seconds: float) -> float | None:
    return seconds if math.isfinite(seconds) else None

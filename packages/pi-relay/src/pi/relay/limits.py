"""Limits of the relay, and how they are counted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pi.base.records import Record

KB: Final = 1024
MB: Final = 1024 * 1024


class Limits(Record):
    """Limits per address, room and connection, and of the whole relay."""

    frame_bytes: int = 768 * KB
    """Of one message; below ``max_payload`` of NATS, which is 1 MB by default."""
    unsent_bytes: int = MB
    """A guest with more unsent data is disconnected: it does not read."""
    host_unsent_bytes: int = 8 * MB
    rooms: int = 10_000
    rooms_per_address: int = 64
    guests_per_room: int = 32
    connections_per_address: int = 256
    request_seconds: float = 20.0
    """A connection without a whole request after that time is closed."""
    joins_per_minute: int = 240
    """New connections of one address."""
    guest_messages_per_second: float = 50.0
    guest_bytes_per_second: float = 2.0 * MB
    host_messages_per_second: float = 2000.0
    host_bytes_per_second: float = 32.0 * MB
    grace_seconds: float = 300.0
    """How long a room waits for its host."""
    share_bytes: int = MB
    shares_per_hour: int = 30
    """New shares of one address."""
    store_bytes: int = 256 * MB
    """Of all shares together."""
    share_seconds: int = 30 * 86_400
    max_share_seconds: int = 90 * 86_400


class Bucket:
    """A token bucket: ``rate`` units a second, and ``burst`` at once."""

    __slots__ = ("_burst", "_rate", "_tokens", "_updated_at")

    def __init__(self, rate: float, burst: float, now: float) -> None:
        self._rate = rate
        self._burst = burst
        self._tokens = burst
        self._updated_at = now

    def take(self, amount: float, now: float) -> bool:
        """Take from the bucket; returns False if there is not enough in it."""
        self._tokens = min(self._burst, self._tokens + (now - self._updated_at) * self._rate)
        self._updated_at = now
        if self._tokens < amount:
            return False
        self._tokens -= amount
        return True

    def full(self, now: float) -> bool:
        """Whether nothing is missing, so that the bucket can be forgotten."""
        return self._tokens + (now - self._updated_at) * self._rate >= self._burst


class AddressLimits:
    """Open connections and request rates of each address."""

    def __init__(self, limits: Limits, now: Callable[[], float]) -> None:
        self._limits = limits
        self._now = now
        self._open: dict[str, int] = {}
        self._buckets: dict[tuple[str, str], Bucket] = {}

    def __len__(self) -> int:
        return len(self._open) + len(self._buckets)

    def connect(self, address: str) -> bool:
        """Count a new connection; returns False if the address has too many."""
        if self._open.get(address, 0) >= self._limits.connections_per_address:
            return False
        per_minute = self._limits.joins_per_minute
        if not self._take(address, "join", per_minute / 60, per_minute):
            return False
        self._open[address] = self._open.get(address, 0) + 1
        return True

    def disconnect(self, address: str) -> None:
        """Count the end of a connection."""
        remaining = self._open.get(address, 0) - 1
        if remaining > 0:
            self._open[address] = remaining
        else:
            self._open.pop(address, None)

    def share(self, address: str) -> bool:
        """Count a new share; returns False if the address has made too many."""
        per_hour = self._limits.shares_per_hour
        return self._take(address, "share", per_hour / 3600, per_hour)

    def forget_idle(self) -> None:
        """Drop the buckets that are full again, so that a flood of addresses leaves nothing."""
        now = self._now()
        self._buckets = {
            key: bucket for key, bucket in self._buckets.items() if not bucket.full(now)
        }

    def _take(self, address: str, kind: str, rate: float, burst: float) -> bool:
        now = self._now()
        if (bucket := self._buckets.get((address, kind))) is None:
            bucket = self._buckets[address, kind] = Bucket(rate, burst, now)
        return bucket.take(1, now)

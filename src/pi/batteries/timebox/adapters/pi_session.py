"""What the timebox needs to know of a session of pi: its totals, and its own records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import sha256

from pi.batteries.timebox.core.budget import Reading
from pi.batteries.timebox.core.persist import Active, Off, TimeboxRecord, budget_from_json
from pi.extension import (
    Custom,
    Entry,
    ExtensionAPI,
    MessageEntry,
    PiError,
    Usage,
    UserMessage,
    usage_of,
)

ACTIVE, OFF = "timebox-active", "timebox-off"
"""Types of the entries that records are kept in."""


class SessionTotals:
    """Turns, tokens and money of a session. Counted once, then followed: sessions are long."""

    def __init__(self) -> None:
        self._turns = 0
        self._tokens = 0
        self._cost = 0.0

    def recount(self, entries: Iterable[Entry]) -> None:
        """Begin with what ``entries`` hold: messages, summaries, and what else has a price."""
        self._turns, self._tokens, self._cost = 0, 0, 0.0
        for entry in entries:
            if isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage):
                self.add_turn()
            if (usage := usage_of(entry)) is not None:
                self.add_usage(usage)

    def add_turn(self) -> None:
        """The person has said something."""
        self._turns += 1

    def add_usage(self, usage: Usage) -> None:
        """A model was asked; its tokens are counted as ``/session`` counts them."""
        self._tokens += usage.input + usage.output + usage.cache_read + usage.cache_write
        self._cost += usage.cost.total

    def reading(self, now_ms: int) -> Reading:
        """The totals at that time."""
        return {"time": now_ms, "turns": self._turns, "tokens": self._tokens, "cost": self._cost}


def records(entries: Iterable[Entry]) -> Iterator[TimeboxRecord]:
    """The records among ``entries``; a budget that cannot be read is left out."""
    for entry in entries:
        if not isinstance(entry, Custom):
            continue
        if entry.custom_type == OFF:
            yield Off(_disabled_at(entry.data))
        elif entry.custom_type == ACTIVE and (budget := budget_from_json(entry.data)) is not None:
            yield Active(budget)


def _disabled_at(data: object) -> int:
    match data:
        case {"disabledAt": int(at)}:
            return at
        case _:
            return 0


# Which commands for the end of a budget may run: those that were given on this machine.
#
# A budget is kept in its session with its command, and a session file may come from anybody. What
# it brings along must not reach a shell because somebody has opened it.


KEY = "on-stop-commands"
MOST = 200


class AllowedCommands:
    """Remembers commands, as digests, in the person's own folder."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi

    def knows(self, command: str) -> bool:
        """Whether the person has given this command here."""
        try:
            return _digest(command) in self._kept()
        except PiError as problem:
            self._pi.log.warning("known commands cannot be read: %s", problem)
            return False

    async def remember(self, command: str) -> None:
        """Know ``command`` from now on; what cannot be kept holds until the session is left."""
        digest = _digest(command)
        try:
            others = [each for each in self._kept() if each != digest]
            await self._pi.store("global").set(KEY, [*others, digest][-MOST:])
        except PiError as problem:
            self._pi.log.warning("a command is not remembered: %s", problem)

    def _kept(self) -> list[str]:
        kept = self._pi.store("global").get(KEY)
        return kept if isinstance(kept, list) else []


def _digest(command: str) -> str:
    return sha256(command.encode("utf-8", "replace")).hexdigest()

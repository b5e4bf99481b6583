"""Session totals, stored records and allowed commands of the timebox in pi."""

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
"""Custom types of the entries that store records."""


class SessionTotals:
    """Turns, tokens and cost of a session. Counted once, then updated by events."""

    def __init__(self) -> None:
        self._turns = 0
        self._tokens = 0
        self._cost = 0.0

    def recount(self, entries: Iterable[Entry]) -> None:
        """Count again from ``entries``: messages, summaries, and other entries with a cost."""
        self._turns, self._tokens, self._cost = 0, 0, 0.0
        for entry in entries:
            if isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage):
                self.add_turn()
            if (usage := usage_of(entry)) is not None:
                self.add_usage(usage)

    def add_turn(self) -> None:
        """Count a user message."""
        self._turns += 1

    def add_usage(self, usage: Usage) -> None:
        """Count the tokens and cost of an answer, as ``/session`` does."""
        self._tokens += usage.input + usage.output + usage.cache_read + usage.cache_write
        self._cost += usage.cost.total

    def reading(self, now_ms: int) -> Reading:
        """Return the totals at that time."""
        return {"time": now_ms, "turns": self._turns, "tokens": self._tokens, "cost": self._cost}


def records(entries: Iterable[Entry]) -> Iterator[TimeboxRecord]:
    """Yield the records among ``entries``; invalid budgets are skipped."""
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


KEY = "on-stop-commands"
MOST = 200


class AllowedCommands:
    """Stores digests of the commands that the user has typed on this machine.

    A budget is stored in its session together with its command, and session files can be shared. A
    command from someone else's session file must not run just because the file was opened.
    """

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi

    def knows(self, command: str) -> bool:
        """Whether the user has typed this command on this machine."""
        try:
            return _digest(command) in self._kept()
        except PiError as error:
            self._pi.log.warning("cannot read the allowed commands: %s", error)
            return False

    async def remember(self, command: str) -> None:
        """Allow ``command``. If it cannot be stored, it is allowed for this session only."""
        digest = _digest(command)
        try:
            others = [each for each in self._kept() if each != digest]
            await self._pi.store("global").set(KEY, [*others, digest][-MOST:])
        except PiError as error:
            self._pi.log.warning("cannot store an allowed command: %s", error)

    def _kept(self) -> list[str]:
        kept = self._pi.store("global").get(KEY)
        return kept if isinstance(kept, list) else []


def _digest(command: str) -> str:
    return sha256(command.encode("utf-8", "replace")).hexdigest()

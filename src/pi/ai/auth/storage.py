"""The credential store: one credential per provider, seen as it is now by every process."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeAlias

from pi.ai.auth.credentials import Credential, OAuthCredential, decode, encode
from pi.ai.auth.errors import StoreDamaged
from pi.ai.auth.single_flight import SingleFlight
from pi.ai.auth.store_file import Store, StoreFile, StoreMemory, StoreTurn
from pi.ai.auth.values import RememberedCommands
from pi.ai.messages import Json
from pi.base.clock import Clock, SystemClock

log = logging.getLogger(__name__)

Change: TypeAlias = Callable[[Credential | None], Awaitable[Credential | None]]
"""Makes the new credential out of the old one; ``None`` stands for no credential."""


class AuthStorage:
    """Credentials in the file ``path`` (pi's ``auth.json``), or in memory without one.

    Nothing is cached: a login made in another terminal is there with the next question. A change
    touches its provider's entry only and waits until no other process writes. Raises
    ``FileProblem``, as ``StoreDamaged`` when the file is not what it should be.
    """

    def __init__(self, path: Path | None = None, *, clock: Clock | None = None) -> None:
        self._store: Store = (
            StoreMemory() if path is None else StoreFile(path, clock=clock or SystemClock())
        )
        self.refreshes: SingleFlight[OAuthCredential] = SingleFlight()
        """Refreshes under way, by provider: the tasks of this process share them."""
        self.commands = RememberedCommands()
        """What the ``!command`` keys of this store have printed: each runs once per process."""

    @property
    def where(self) -> str:
        """What to call the store in a message: its path."""
        return self._store.where

    def peek(self, provider: str) -> Credential | None:
        """The credential, without waiting even if the file is being written by the original pi."""
        return self._decode(provider, self._store.read())

    def entries(self) -> Json:
        """The entries as they are written now, without waiting as in ``peek``."""
        return self._store.read()

    async def get(self, provider: str) -> Credential | None:
        """The credential of ``provider``."""
        return self._decode(provider, await self._read())

    async def list(self) -> dict[str, Credential]:
        """All credentials by provider; entries of a kind that we do not know are left out."""
        found: dict[str, Credential] = {}
        for provider, entry in (await self._read()).items():
            try:
                found[provider] = decode(entry)
            except ValueError as problem:
                log.info("the entry %s in %s is skipped: %s", provider, self.where, problem)
        return found

    async def set(self, provider: str, credential: Credential) -> None:
        """Keep ``credential``; when this returns, it is on the disk."""
        async with self.turn() as turn:
            await turn.put(provider, credential)

    async def remove(self, provider: str) -> bool:
        """Forget the credential; False if there was none."""
        async with self.turn() as turn:
            return await turn.put(provider, None)

    async def modify(self, provider: str, change: Change) -> Credential | None:
        """Replace the credential by what ``change`` makes of it, while nobody else can write."""
        async with self.turn() as turn:
            new = await change(turn.get(provider))
            await turn.put(provider, new)
            return new

    async def create(self) -> None:
        """Have the file exist, as the original pi does at its first start."""
        async with self._store.turn() as turn:
            if not (entries := turn.read()):
                await turn.write(entries)

    async def set_aside(self) -> str:
        """Move a damaged file out of the way; says where it is now. A sound one stays."""
        async with self._store.turn() as turn:
            try:
                turn.read()
            except StoreDamaged:
                return turn.set_aside()
            return self.where

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[Turn]:
        """The time in which no other task or process writes."""
        async with self._store.turn() as turn:
            yield Turn(turn, self._decode)

    async def _read(self) -> Json:
        try:
            return self._store.read()
        except StoreDamaged:
            # The original pi writes in place: wait for it, and look again.
            async with self._store.turn() as turn:
                return turn.read()

    def _decode(self, provider: str, entries: Json) -> Credential | None:
        if provider not in entries:
            return None
        try:
            return decode(entries[provider])
        except ValueError as problem:
            raise StoreDamaged(
                f'The entry "{provider}" in {self.where} cannot be used: {problem}.',
                hint=f"Repair it by hand, or log in again with /login {provider}.",
            ) from problem


class Turn:
    """The store while it is ours; see ``AuthStorage.turn``."""

    def __init__(
        self, turn: StoreTurn, decode_entry: Callable[[str, Json], Credential | None]
    ) -> None:
        self._turn = turn
        self._decode = decode_entry

    def get(self, provider: str) -> Credential | None:
        """The credential as it is now."""
        return self._decode(provider, self._turn.read())

    async def put(self, provider: str, credential: Credential | None) -> bool:
        """Keep or, with ``None``, forget it; False if that changes nothing.

        Raises ``LockedByAnother`` if the turn was lost meanwhile.
        """
        entries = self._turn.read()
        entry = None if credential is None else encode(credential)
        if entries.get(provider) == entry:
            return False
        if entry is None:
            del entries[provider]
        else:
            entries[provider] = entry
        await self._turn.write(entries)
        return True

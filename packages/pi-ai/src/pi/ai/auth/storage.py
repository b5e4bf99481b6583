"""AuthStorage: one credential per provider, in a backend."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from pi.ai.auth.config_values import CommandCache, SingleFlight
from pi.ai.auth.credential_backends import (
    Change,
    CredentialBackend,
    CredentialFile,
    CredentialMemory,
    StoreTransaction,
)
from pi.ai.auth.credentials import Credential, OAuthCredential, decode, encode
from pi.ai.auth.errors import StoreDamaged
from pi.ai.former_names import current_name, names_used
from pi.ai.messages import Json
from pi.base.clock import Clock, SystemClock

log = logging.getLogger(__name__)


class AuthStorage:
    """Credentials in the file ``path`` (pi's ``auth.json``), or in memory without one.

    Nothing is cached: a login made in another terminal takes effect with the next read. A change
    touches its provider's entry only and waits until no other process writes. Raises
    ``FileAccessError``, as ``StoreDamaged`` if the file is invalid.
    """

    def __init__(self, path: Path | None = None, *, clock: Clock | None = None) -> None:
        self._store: CredentialBackend = (
            CredentialMemory()
            if path is None
            else CredentialFile(path, clock=clock or SystemClock())
        )
        self.refreshes: SingleFlight[OAuthCredential] = SingleFlight()
        """Current refreshes by provider: the tasks of this process share them."""
        self.commands = CommandCache()
        """Outputs of the ``!command`` keys of this store: each runs once per process."""
        self.where = self._store.where
        """The name of the store in messages: its path."""
        self.entries = self._store.read
        """Returns the current entries, without waiting for the lock."""

    def peek(self, provider: str) -> Credential | None:
        """Return the credential without waiting, even while the original pi writes the file."""
        return self._decode(provider, self._store.read())

    async def get(self, provider: str) -> Credential | None:
        """Return the credential of ``provider``."""
        return self._decode(provider, await self._read())

    async def list(self) -> dict[str, Credential]:
        """Return all credentials by provider; entries of an unknown kind are left out."""
        credentials: dict[str, Credential] = {}
        entries = await self._read()
        for provider, entry in entries.items():
            if (current := current_name(provider)) != provider and current in entries:
                continue
            try:
                credentials[current] = decode(entry)
            except ValueError as error:
                log.info("the entry %s in %s is skipped: %s", provider, self.where, error)
        return credentials

    async def set(self, provider: str, credential: Credential) -> None:
        """Store ``credential``; it is on the disk when this returns."""
        async with self.lock() as locked:
            await locked.put(provider, credential)

    async def remove(self, provider: str) -> bool:
        """Remove the credential; returns False if there was none."""
        async with self.lock() as locked:
            return await locked.put(provider, None)

    async def modify(self, provider: str, change: Change) -> Credential | None:
        """Replace the credential by the result of ``change``, under the lock."""
        async with self.lock() as locked:
            new = await change(locked.get(provider))
            await locked.put(provider, new)
            return new

    async def create(self) -> None:
        """Create the file if missing, as the original pi does at its first start."""
        async with self._store.lock() as locked:
            if not (entries := locked.read()):
                await locked.write(entries)

    async def set_aside(self) -> str:
        """Move an invalid file away; returns where it is now. A valid one stays."""
        async with self._store.lock() as locked:
            try:
                locked.read()
            except StoreDamaged:
                return locked.set_aside()
            return self.where

    @asynccontextmanager
    async def lock(self) -> AsyncIterator[LockedStore]:
        """Hold the lock: no other task or process writes."""
        async with self._store.lock() as locked:
            yield LockedStore(locked, self._decode)

    async def _read(self) -> Json:
        try:
            return self._store.read()
        except StoreDamaged:
            # The original pi writes in place: wait for it, and read again.
            async with self._store.lock() as locked:
                return locked.read()

    def _decode(self, provider: str, entries: Json) -> Credential | None:
        name = _name_in(entries, provider)
        if name not in entries:
            return None
        try:
            return decode(entries[name])
        except ValueError as error:
            raise StoreDamaged(
                f'The entry "{provider}" in {self.where} cannot be used: {error}.',
                hint=f"Repair it by hand, or log in again with /login {provider}.",
            ) from error


def _name_in(entries: Json, provider: str) -> str:
    """Return the id under which the store has a provider; the current one if it has none."""
    return next((name for name in names_used(provider) if name in entries), provider)


class LockedStore:
    """The store while it is locked; see ``AuthStorage.lock``."""

    def __init__(
        self, locked: StoreTransaction, decode_entry: Callable[[str, Json], Credential | None]
    ) -> None:
        self._store = locked
        self._decode = decode_entry

    def get(self, provider: str) -> Credential | None:
        """Return the current credential."""
        return self._decode(provider, self._store.read())

    async def put(self, provider: str, credential: Credential | None) -> bool:
        """Store the credential or, with ``None``, remove it; returns False if nothing changed.

        Raises ``FileLocked`` if the lock was lost meanwhile.
        """
        entries = self._store.read()
        entry = None if credential is None else encode(credential)
        name = _name_in(entries, provider)
        if entries.get(name) == entry:
            return False
        if entry is None:
            del entries[name]
        else:
            entries[name] = entry
        await self._store.write(entries)
        return True

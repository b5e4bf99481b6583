"""The credential store: one credential per provider, seen as it is now by every process."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import Protocol, TypeAlias

import msgspec

from pi.ai.auth.config_values import CommandCache, SingleFlight
from pi.ai.auth.credentials import Credential, OAuthCredential, decode, encode
from pi.ai.auth.errors import StoreDamaged
from pi.ai.messages import Json
from pi.base.clock import Clock, SystemClock
from pi.base.files import (
    PRIVATE,
    DirectoryLock,
    FileAccessError,
    private_directory,
    read_if_exists,
    replace_file,
)
from pi.base.records import UNREADABLE
from pi.base.tasks import finish_despite_cancel

log = logging.getLogger(__name__)


# Where credentials are kept: pi's ``auth.json``, or memory.


LOCK_SECONDS = 60.0
"""How long to wait for a turn: longer than a refresh of another process may take."""


class StoreTransaction(Protocol):
    """The time in which nobody else writes."""

    def read(self) -> Json:
        """The entries as they are now."""
        ...

    async def write(self, entries: Json) -> None:
        """Replace all entries, or raise ``FileLocked`` if the turn was lost."""
        ...

    def set_aside(self) -> str:
        """Start with no entries; says where the old ones are now."""
        ...


class CredentialBackend(Protocol):
    """Entries by provider; what an entry holds is not known here."""

    @property
    def where(self) -> str:
        """What to call the place in a message."""
        ...

    def read(self) -> Json:
        """The entries as they are now, without waiting for a turn."""
        ...

    def turn(self) -> AbstractAsyncContextManager[StoreTransaction]:
        """Wait for a turn and hold it."""
        ...


class CredentialFile:
    """A JSON file for the owner alone, shared with other processes and with the original pi.

    Reading needs no turn: a file is replaced as a whole. Writing goes by the lock directory beside
    the file. A file that is not JSON is reported and stays as it is.
    """

    def __init__(self, path: Path, *, clock: Clock, wait: float = LOCK_SECONDS) -> None:
        self._path = path
        self._clock = clock
        self._wait = wait

    @property
    def where(self) -> str:
        """The path."""
        return str(self._path)

    def read(self) -> Json:
        """The entries; none if there is no file yet."""
        data = read_if_exists(self._path)
        if data is None:
            return {}
        try:
            return msgspec.json.decode(data, type=Json)
        except UNREADABLE as error:
            raise StoreDamaged(
                f"{self._path} is not a JSON object: {error}.",
                hint="Repair it by hand, or move it away and log in again; pi leaves it as it is.",
            ) from error

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[StoreTransaction]:
        """Hold the lock directory, which is kept fresh meanwhile."""
        private_directory(self._path.parent)
        async with DirectoryLock(self._path, wait=self._wait, clock=self._clock) as lock:
            yield _FileTurn(self, lock)

    def replace(self, entries: Json) -> None:
        """Write the whole file; only for who holds a turn."""
        if sys.platform != "win32":
            with suppress(OSError):  # not there yet, or not ours
                if self._path.stat().st_mode & 0o077:
                    self._path.chmod(PRIVATE)
        data = msgspec.json.format(msgspec.json.encode(entries), indent=2)
        replace_file(self._path, data)

    def move_away(self) -> Path:
        """Give the file another name, which is returned; only for who holds a turn."""
        new = self._path.with_name(f"{self._path.name}.damaged-{self._clock.now_ms()}")
        try:
            return self._path.replace(new)
        except OSError as error:
            raise FileAccessError(f"Cannot move {self._path}: {error.strerror}.") from error


class _FileTurn:
    def __init__(self, file: CredentialFile, lock: DirectoryLock) -> None:
        self._file = file
        self._lock = lock

    def read(self) -> Json:
        return self._file.read()

    async def write(self, entries: Json) -> None:
        self._lock.check()
        # In a thread because of fsync; to its end, or it would be written after our turn.
        await finish_despite_cancel(asyncio.to_thread(self._file.replace, entries))

    def set_aside(self) -> str:
        self._lock.check()
        return str(self._file.move_away())


class CredentialMemory:
    """Entries that end with the process: for tests, and for programs with a store of their own."""

    where = "memory"

    def __init__(self) -> None:
        self._entries: Json = {}
        self._lock = asyncio.Lock()

    def read(self) -> Json:
        """A copy of the entries."""
        import copy  # only here, and this store is for tests and embedders

        return copy.deepcopy(self._entries)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[StoreTransaction]:
        """Tasks take turns."""
        async with self._lock:
            yield self

    async def write(self, entries: Json) -> None:
        """Keep ``entries``."""
        self._entries = entries

    def set_aside(self) -> str:
        """Forget everything."""
        self._entries = {}
        return "nowhere"


Change: TypeAlias = Callable[[Credential | None], Awaitable[Credential | None]]
"""Makes the new credential out of the old one; ``None`` stands for no credential."""


class AuthStorage:
    """Credentials in the file ``path`` (pi's ``auth.json``), or in memory without one.

    Nothing is cached: a login made in another terminal is there with the next question. A change
    touches its provider's entry only and waits until no other process writes. Raises
    ``FileAccessError``, as ``StoreDamaged`` when the file is not what it should be.
    """

    def __init__(self, path: Path | None = None, *, clock: Clock | None = None) -> None:
        self._store: CredentialBackend = (
            CredentialMemory()
            if path is None
            else CredentialFile(path, clock=clock or SystemClock())
        )
        self.refreshes: SingleFlight[OAuthCredential] = SingleFlight()
        """Refreshes under way, by provider: the tasks of this process share them."""
        self.commands = CommandCache()
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
            except ValueError as error:
                log.info("the entry %s in %s is skipped: %s", provider, self.where, error)
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
    async def turn(self) -> AsyncIterator[LockedStore]:
        """The time in which no other task or process writes."""
        async with self._store.turn() as turn:
            yield LockedStore(turn, self._decode)

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
        except ValueError as error:
            raise StoreDamaged(
                f'The entry "{provider}" in {self.where} cannot be used: {error}.',
                hint=f"Repair it by hand, or log in again with /login {provider}.",
            ) from error


class LockedStore:
    """The store while it is ours; see ``AuthStorage.turn``."""

    def __init__(
        self, turn: StoreTransaction, decode_entry: Callable[[str, Json], Credential | None]
    ) -> None:
        self._turn = turn
        self._decode = decode_entry

    def get(self, provider: str) -> Credential | None:
        """The credential as it is now."""
        return self._decode(provider, self._turn.read())

    async def put(self, provider: str, credential: Credential | None) -> bool:
        """Keep or, with ``None``, forget it; False if that changes nothing.

        Raises ``FileLocked`` if the turn was lost meanwhile.
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

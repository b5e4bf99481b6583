"""Where credentials are stored: a file shared by all processes, or memory."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import Protocol, TypeAlias

import msgspec

from pi.ai.auth.credentials import Credential
from pi.ai.auth.errors import StoreDamaged
from pi.ai.messages import Json
from pi.base.clock import Clock
from pi.base.files import PRIVATE, FileAccessError, private_directory, read_if_exists, replace_file
from pi.base.locks import DirectoryLock
from pi.base.records import UNREADABLE
from pi.base.tasks import finish_despite_cancel

LOCK_SECONDS = 60.0
"""How long to wait for the lock: longer than a refresh of another process may take."""


class StoreTransaction(Protocol):
    """Exclusive write access to the store."""

    def read(self) -> Json:
        """Return the current entries."""
        ...

    async def write(self, entries: Json) -> None:
        """Replace all entries; raises ``FileLocked`` if the lock was lost."""
        ...

    def set_aside(self) -> str:
        """Start with no entries; returns where the old ones are now."""
        ...


class CredentialBackend(Protocol):
    """Entries by provider; their content is opaque here."""

    @property
    def where(self) -> str:
        """The name of the store in messages."""
        ...

    def read(self) -> Json:
        """Return the current entries, without waiting for the lock."""
        ...

    def lock(self) -> AbstractAsyncContextManager[StoreTransaction]:
        """Wait for the lock and hold it."""
        ...


class CredentialFile:
    """A JSON file with access for the owner only, shared with other processes and the original pi.

    Reading needs no lock: a file is replaced as a whole. Writing uses the lock directory beside the
    file. A file that is not JSON is reported and not changed.
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
        """Return the entries; none if there is no file yet."""
        data = read_if_exists(self._path)
        if data is None:
            return {}
        try:
            return msgspec.json.decode(data, type=Json)
        except UNREADABLE as error:
            raise StoreDamaged(
                f"{self._path} is not a JSON object: {error}.",
                hint="Repair it by hand, or move it away and log in again; pi does not change it.",
            ) from error

    @asynccontextmanager
    async def lock(self) -> AsyncIterator[StoreTransaction]:
        """Hold the lock directory, which is refreshed meanwhile."""
        private_directory(self._path.parent)
        async with DirectoryLock(self._path, wait=self._wait, clock=self._clock) as lock:
            yield _FileTransaction(self, lock)

    def replace(self, entries: Json) -> None:
        """Write the whole file; requires the lock."""
        if sys.platform != "win32":
            with suppress(OSError):  # it does not exist yet, or belongs to another user
                if self._path.stat().st_mode & 0o077:
                    self._path.chmod(PRIVATE)
        data = msgspec.json.format(msgspec.json.encode(entries), indent=2)
        replace_file(self._path, data)

    def move_away(self) -> Path:
        """Rename the file and return its new name; requires the lock."""
        new = self._path.with_name(f"{self._path.name}.damaged-{self._clock.now_ms()}")
        try:
            return self._path.replace(new)
        except OSError as error:
            raise FileAccessError(f"Cannot move {self._path}: {error.strerror}.") from error


class _FileTransaction:
    def __init__(self, file: CredentialFile, lock: DirectoryLock) -> None:
        self._file = file
        self._lock = lock
        self.read = self._file.read

    async def write(self, entries: Json) -> None:
        self._lock.check()
        # In a thread because of fsync; not cancelled, or it would be written after the lock ended.
        await finish_despite_cancel(asyncio.to_thread(self._file.replace, entries))

    def set_aside(self) -> str:
        self._lock.check()
        return str(self._file.move_away())


class CredentialMemory:
    """Entries in memory: for tests, and for programs with a store of their own."""

    where = "memory"

    def __init__(self) -> None:
        self._entries: Json = {}
        self._lock = asyncio.Lock()

    def read(self) -> Json:
        """Return a copy of the entries."""
        import copy  # lazy: this store is for tests and embedders only

        return copy.deepcopy(self._entries)

    @asynccontextmanager
    async def lock(self) -> AsyncIterator[StoreTransaction]:
        """Hold the lock; tasks wait for each other."""
        async with self._lock:
            yield self

    async def write(self, entries: Json) -> None:
        """Replace the entries."""
        self._entries = entries

    def set_aside(self) -> str:
        """Drop all entries."""
        self._entries = {}
        return "nowhere"


Change: TypeAlias = Callable[[Credential | None], Awaitable[Credential | None]]
"""Returns the new credential for the old one; ``None`` means no credential."""

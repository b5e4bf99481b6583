"""Where credentials are kept: pi's ``auth.json``, or memory."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import Protocol

import msgspec

from pi.ai.auth.errors import StoreDamaged
from pi.ai.messages import Json
from pi.base.clock import Clock
from pi.base.files import (
    PRIVATE,
    DirectoryLock,
    FileProblem,
    private_directory,
    read_if_exists,
    replace_file,
)
from pi.base.records import UNREADABLE
from pi.base.tasks import finish_although_cancelled

LOCK_SECONDS = 60.0
"""How long to wait for a turn: longer than a refresh of another process may take."""


class StoreTurn(Protocol):
    """The time in which nobody else writes."""

    def read(self) -> Json:
        """The entries as they are now."""
        ...

    async def write(self, entries: Json) -> None:
        """Replace all entries, or raise ``LockedByAnother`` if the turn was lost."""
        ...

    def set_aside(self) -> str:
        """Start with no entries; says where the old ones are now."""
        ...


class Store(Protocol):
    """Entries by provider; what an entry holds is not known here."""

    @property
    def where(self) -> str:
        """What to call the place in a message."""
        ...

    def read(self) -> Json:
        """The entries as they are now, without waiting for a turn."""
        ...

    def turn(self) -> AbstractAsyncContextManager[StoreTurn]:
        """Wait for a turn and hold it."""
        ...


class StoreFile:
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
        except UNREADABLE as problem:
            raise StoreDamaged(
                f"{self._path} is not a JSON object: {problem}.",
                hint="Repair it by hand, or move it away and log in again; pi leaves it as it is.",
            ) from problem

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[StoreTurn]:
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
        except OSError as problem:
            raise FileProblem(f"Cannot move {self._path}: {problem.strerror}.") from problem


class _FileTurn:
    def __init__(self, file: StoreFile, lock: DirectoryLock) -> None:
        self._file = file
        self._lock = lock

    def read(self) -> Json:
        return self._file.read()

    async def write(self, entries: Json) -> None:
        self._lock.check()
        # In a thread because of fsync; to its end, or it would be written after our turn.
        await finish_although_cancelled(asyncio.to_thread(self._file.replace, entries))

    def set_aside(self) -> str:
        self._lock.check()
        return str(self._file.move_away())


class StoreMemory:
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
    async def turn(self) -> AsyncIterator[StoreTurn]:
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

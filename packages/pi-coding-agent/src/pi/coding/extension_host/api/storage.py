"""Storage of extensions: key-value stores, long outputs, and objects shared by sessions."""

from __future__ import annotations

import asyncio
import io
import logging
import os
from collections.abc import Awaitable, Callable, Hashable
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias, TypeVar, get_args

import msgspec

from pi.agent.tools.tool import Update
from pi.ai.messages import Json
from pi.base.clock import Clock
from pi.base.errors import PiError
from pi.base.files import private_directory, read_if_exists, replace_file
from pi.base.locks import DirectoryLock
from pi.base.records import UNREADABLE
from pi.coding.blobs.artifacts import AgentOutputs, Artifacts
from pi.coding.extension_host.errors import check_value
from pi.coding.extension_host.scope import Report, Scope, SessionLink
from pi.coding.port.session import SessionPort
from pi.coding.session.entries import Custom
from pi.coding.shell.output import Output
from pi.coding.shell.spill import Spill
from pi.coding.tools.bash import Progress, output_details

log = logging.getLogger(__name__)

StorePlace: TypeAlias = Literal["session", "project", "global"]


class SessionStore:
    """Values stored in the session itself; they follow its branches."""

    def __init__(self, session: SessionPort, name: str) -> None:
        self._session = session
        self._type = f"store:{name}"

    def get(self, key: str, default: Any = None) -> Any:
        """The last value on this branch, or ``default``."""
        for entry in self._session.entries.log.customs(self._type):
            data = entry.data if isinstance(entry.data, dict) else {}
            if data.get("key") == key:
                return data.get("value", default)
        return default

    def keys(self) -> tuple[str, ...]:
        """The keys that have a value on this branch."""
        has_value_by_key: dict[str, bool] = {}
        for entry in reversed([*self._session.entries.log.customs(self._type)]):
            data = entry.data if isinstance(entry.data, dict) else {}
            has_value_by_key[str(data.get("key"))] = "value" in data
        return tuple(key for key, has_value in has_value_by_key.items() if has_value)

    async def set(self, key: str, value: Any) -> None:
        """Store a JSON value."""
        await self._session.entries.append_entry(
            Custom(custom_type=self._type, data={"key": key, "value": value})
        )

    async def delete(self, key: str) -> None:
        """Remove a value."""
        await self._session.entries.append_entry(Custom(custom_type=self._type, data={"key": key}))


class FileStore:
    """Values in a file, protected by a lock against concurrent writers."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock

    def get(self, key: str, default: Any = None) -> Any:
        """The stored value, or ``default``."""
        return self._read().get(key, default)

    def keys(self) -> tuple[str, ...]:
        """The keys that have a value."""
        return tuple(self._read())

    async def set(self, key: str, value: Any) -> None:
        """Store a JSON value."""
        self._change(key, value)

    async def delete(self, key: str) -> None:
        """Remove a value."""
        self._change(key, None)

    def _change(self, key: str, value: Any) -> None:
        private_directory(self._path.parent)
        with DirectoryLock(self._path, clock=self._clock):
            values = self._read()
            if value is None:
                values.pop(key, None)
            else:
                values[key] = value
            replace_file(self._path, msgspec.json.format(msgspec.json.encode(values)))

    def _read(self) -> dict[str, Any]:
        content = read_if_exists(self._path)
        if not content:
            return {}
        try:
            return msgspec.json.decode(content, type=dict[str, Any])
        except UNREADABLE as error:
            raise PiError(
                f"Cannot read extension data in {self._path}: {error}",
                hint="Repair or remove the file.",
            ) from error


Store: TypeAlias = SessionStore | FileStore


def open_store(place: StorePlace, link: SessionLink, agent_dir: Path) -> Store:
    """The store of the extension that ``link`` belongs to."""
    check_value("a place of a store", place, get_args(StorePlace))
    session, name, clock = link.session, link.scope.name, link.scope.clock
    if place == "session":
        return SessionStore(session, name)
    folder = agent_dir / "extension-data" / name
    if place == "project":
        return FileStore(folder / f"{_project_key(session.workspace.cwd)}.json", clock)
    return FileStore(folder / "global.json", clock)


def _project_key(cwd: Path) -> str:
    import hashlib  # deferred: most sessions store nothing

    return hashlib.sha256(str(cwd).encode("utf-8", "replace")).hexdigest()[:16]


def data_directory(link: SessionLink, agent_dir: Path) -> Path:
    """The private folder of the extension that ``link`` belongs to."""
    link.require_open()
    return private_directory(agent_dir / "extension-data" / link.scope.name / "files")


MAX_IN_MEMORY = 64 * 1024 * 1024
"""Most bytes of an output that are kept if the session has no folder."""


class OutputSink:
    """Collects an output and keeps its end; the whole of a long output is saved as an artifact.

    Use it in a ``with`` statement. The artifact must not be read before the sink is closed.
    """

    def __init__(
        self,
        artifacts: Artifacts,
        kind: str,
        *,
        update: Update | None = None,
        harmless: bool = False,
    ) -> None:
        self._artifacts = artifacts
        self._kind = kind
        self._number: str | None = None
        self._output = Output(self._open, harmless=harmless)
        self._progress = None if update is None else Progress(update, self._output)
        self._is_closed = False

    def write(self, data: str | bytes) -> None:
        """Append data; bytes may end inside a character."""
        text = self._output.add(data.encode("utf-8", "replace") if isinstance(data, str) else data)
        if text and self._progress is not None:
            self._progress.changed(text)

    def close(self) -> None:
        """End the output; a second call does nothing."""
        if not self._is_closed:
            self._is_closed = True
            self._output.finish()
            if self._progress is not None:
                self._progress.close()

    @property
    def details(self) -> Json:
        """The details of a tool result with this output; empty if ``text`` is complete."""
        return output_details(self._output.written())

    @property
    def number(self) -> str | None:
        """Number of the artifact with the whole output, set once closed.

        ``None`` if ``text`` is complete.
        """
        return self._number

    @property
    def text(self) -> str:
        """The text for the model: the last lines, and where the whole output is."""
        written = self._output.written()
        tail = written.tail
        if not tail.truncated:
            return tail.content
        first = tail.total_lines - tail.output_lines + 1
        notice = f"Showing lines {first}-{tail.total_lines} of {tail.total_lines}"
        file_note = f". {written.file_label}: {self._where(self._number)}" if self._number else ""
        return f"{tail.content}\n\n[{notice}{file_note}]"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _where(self, number: str) -> str:
        path = self._artifacts.path(int(number))
        return f"artifact://{number}" if path is None else str(path)

    def _open(self) -> Spill:
        """Open the destination: a file, or memory if the session has no folder."""
        artifact = self._artifacts.allocate(self._kind)
        if artifact is None:
            return Spill(_MemoryFile(self._save), [Path(self._kind)], most=MAX_IN_MEMORY)
        self._number = artifact.id
        only_here = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        file = os.fdopen(os.open(artifact.path, only_here, 0o600), "wb")
        return Spill(file, [artifact.path], artifact)

    def _save(self, text: str) -> None:
        self._number = self._artifacts.save(self._kind, text)


class _MemoryFile(io.BytesIO):
    """A file in memory that calls ``keep`` with its text when it is closed."""

    def __init__(self, keep: Callable[[str], None]) -> None:
        super().__init__()
        self._keep = keep

    def close(self) -> None:
        if not self.closed:
            self._keep(self.getvalue().decode("utf-8", "replace"))
        super().close()


class ExtensionArtifacts:
    """The artifacts of a session, by number: ``save`` a text, or write one to a ``sink``."""

    def __init__(self, artifacts: Artifacts) -> None:
        self._artifacts = artifacts

    @property
    def outputs(self) -> AgentOutputs:
        """Outputs of sub-agents by name, for ``agent://``: allocate, save, read, list."""
        return self._artifacts.outputs

    def save(self, kind: str, text: str) -> str:
        """Save a text that ``kind`` produced. Returns its number, for ``artifact://``."""
        return self._artifacts.save(kind, text)

    def sink(
        self, kind: str, *, update: Update | None = None, harmless: bool = False
    ) -> OutputSink:
        """A sink for output of any length, in bounded memory.

        With ``update`` (the one of a ``ToolContext``) the user sees the output while it arrives;
        ``harmless`` removes terminal control sequences.
        """
        return OutputSink(self._artifacts, kind, update=update, harmless=harmless)

    def read(self, number: int | str) -> str | None:
        """The text of an artifact; ``None`` if it does not exist."""
        return self._artifacts.read(int(number))

    def path(self, number: int | str) -> Path | None:
        """The file of an artifact; ``None`` if it does not exist or is in memory."""
        return self._artifacts.path(int(number))

    def numbers(self) -> list[int]:
        """The numbers of all artifacts, in order."""
        return self._artifacts.numbers()


T = TypeVar("T")

CLOSING_SECONDS = 3.0
"""Seconds that shared objects have to close when the program ends."""


class _SharedObject:
    """One shared object with its scope."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self.loop.create_future()
        self.users = 0
        self.lingering: asyncio.Task[None] | None = None


class SharedObjects:
    """Objects by key that outlive sessions: created once per event loop, closed when unused."""

    def __init__(self) -> None:
        self._objects: dict[Hashable, _SharedObject] = {}

    async def acquire(
        self,
        key: Hashable,
        make: Callable[[Scope], Awaitable[T]],
        *,
        user: Scope,
        report: Report,
        linger: float,
    ) -> T:
        """The object that ``make`` created for ``key``; released when ``user`` is closed."""
        shared = self._objects.get(key)
        # An SDK program may run one event loop after another: objects of the old one are unusable.
        if shared is None or shared.loop is not asyncio.get_running_loop():
            scope = Scope(user.clock, name=f"shared {key}", report=report)
            shared = _SharedObject(scope)
            self._objects[key] = shared
            await self._make(key, shared, make)
        if shared.lingering is not None:
            shared.lingering.cancel()
            shared.lingering = None
        shared.users += 1
        user.on_close(lambda: self._release(key, shared, linger, user.clock))
        result: T = await asyncio.shield(shared.future)
        return result

    @property
    def keys(self) -> frozenset[str]:
        """The keys of all objects, as text."""
        return frozenset(map(str, self._objects))

    async def close(self, *, grace: float = CLOSING_SECONDS) -> None:
        """Close all objects of the running event loop, even if they are in use.

        All objects together have ``grace`` seconds. Objects of other event loops are kept: only
        the loop that created an object can close it.
        """
        loop = asyncio.get_running_loop()
        own = {key: shared for key, shared in self._objects.items() if shared.loop is loop}
        for key, shared in own.items():
            del self._objects[key]
            if shared.lingering is not None:
                shared.lingering.cancel()
        closing = {
            loop.create_task(shared.scope.close(), name=str(key)) for key, shared in own.items()
        }
        if not closing:
            return
        _, late = await asyncio.wait(closing, timeout=grace)
        for task in late:
            task.cancel()
            log.error("%s, shared by sessions, was not closed in %g s", task.get_name(), grace)

    async def _make(
        self, key: Hashable, shared: _SharedObject, make: Callable[[Scope], Awaitable[T]]
    ) -> None:
        try:
            shared.future.set_result(await make(shared.scope))
        except BaseException:
            self._objects.pop(key, None)
            shared.future.cancel()
            await shared.scope.close()
            raise

    async def _release(
        self, key: Hashable, shared: _SharedObject, linger: float, clock: Clock
    ) -> None:
        shared.users -= 1
        if shared.users > 0:
            return
        if linger <= 0:
            await self._end(key, shared)
            return

        async def wait() -> None:
            await clock.sleep(linger)
            await self._end(key, shared)

        shared.lingering = asyncio.get_running_loop().create_task(wait(), name=f"shared {key}")

    async def _end(self, key: Hashable, shared: _SharedObject) -> None:
        if self._objects.get(key) is shared:
            del self._objects[key]
        await shared.scope.close()

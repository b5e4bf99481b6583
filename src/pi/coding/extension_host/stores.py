"""Small things that an extension remembers: for the session, the project, or everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from pi.base.clock import Clock
from pi.base.errors import PiError
from pi.base.files import DirectoryLock, private_directory, read_if_exists, replace_file
from pi.base.records import UNREADABLE
from pi.coding.extension_host.control import HostedSession
from pi.coding.session.entries import Custom

StorePlace: TypeAlias = Literal["session", "project", "global"]


class SessionStore:
    """Values that are kept in the session itself, and so follow its branches."""

    def __init__(self, session: HostedSession, name: str) -> None:
        self._session = session
        self._type = f"store:{name}"

    def get(self, key: str, default: Any = None) -> Any:
        """What was stored last on this branch."""
        for entry in reversed(tuple(self._session.talk.log.branch())):
            if isinstance(entry, Custom) and entry.custom_type == self._type:
                data = entry.data if isinstance(entry.data, dict) else {}
                if data.get("key") == key:
                    return data.get("value", default)
        return default

    async def set(self, key: str, value: Any) -> None:
        """Store a JSON value."""
        await self._session.talk.add(
            Custom(custom_type=self._type, data={"key": key, "value": value})
        )

    async def delete(self, key: str) -> None:
        """Store nothing."""
        await self._session.talk.add(Custom(custom_type=self._type, data={"key": key}))


class FileStore:
    """Values in a file; others who write to it at the same time lose nothing."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._path = path
        self._clock = clock

    def get(self, key: str, default: Any = None) -> Any:
        """What is stored."""
        return self._read().get(key, default)

    async def set(self, key: str, value: Any) -> None:
        """Store a JSON value."""
        self._change(key, value)

    async def delete(self, key: str) -> None:
        """Store nothing."""
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
        except UNREADABLE as problem:
            raise PiError(
                f"What an extension has stored in {self._path} cannot be read: {problem}",
                hint="Repair the file, or remove it.",
            ) from problem


Store: TypeAlias = SessionStore | FileStore


def open_store(place: StorePlace, name: str, session: HostedSession, agent_dir: Path) -> Store:
    """Where the extension called ``name`` keeps its things."""
    if place == "session":
        return SessionStore(session, name)
    folder = agent_dir / "extension-data" / name
    if place == "project":
        import hashlib  # most sessions store nothing

        project = hashlib.sha256(str(session.place.cwd).encode("utf-8", "replace")).hexdigest()[:16]
        return FileStore(folder / f"{project}.json", session.place.clock)
    return FileStore(folder / "global.json", session.place.clock)

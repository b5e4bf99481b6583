"""The language servers of one session: choice for a file, and synchronisation with the disk."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path

from pi.batteries.lsp.config import (
    MAX_FILE,
    ServerRow,
    Servers,
    config_files,
    load_servers,
    root_of,
)
from pi.batteries.lsp.launch import Launch, launches
from pi.batteries.lsp.pool import PoolUser, ServerPool, ServerUnavailable, Slot
from pi.batteries.lsp.server import CHANGED, CREATED, DELETED, LanguageServer, disk_stamp
from pi.coding.files.disk import FileStamp
from pi.extension import ExtensionAPI, FileFailed, Json

MAX_TEXT = 2_000_000
"""Maximum bytes of a file that is sent to servers."""
MAX_SCANNED = 20_000
MAX_EVENTS = 2_000
SKIPPED = frozenset(
    {
        *(".git/", ".hg/", ".svn/", "node_modules/", ".venv/", "venv/", "__pycache__/", "target/"),
        *(".mypy_cache/", ".ruff_cache/", ".pytest_cache/", "dist/", "build/", ".next/", ".tox/"),
    }
)
"""Folders whose changes are not reported to servers."""
CONFIGURATION = (".json", ".toml", ".yaml", ".yml", ".cfg", ".ini", ".txt")


class LspSession:
    """Configuration, choices and running servers of a session."""

    def __init__(self, pi: ExtensionAPI, pool: ServerPool, user: PoolUser) -> None:
        self.pi = pi
        self.pool = pool
        self.user = user
        self.clock = pi.scope.clock
        self._servers: Servers | None = None
        self._choices: dict[tuple[Path, str], asyncio.Task[list[Launch]]] = {}
        self._noted: set[tuple[str, str]] = set()

    # Configuration --------------------------------------------------------------------------------

    async def servers(self) -> Servers:
        """All servers, from the known rows and the configuration files; read once."""
        if self._servers is None:
            ctx = self.pi.context
            home, agent_dir = self._user_folders()
            paths = config_files(ctx.cwd, home, agent_dir, trusted=ctx.is_project_trusted())
            read = await ctx.files.read_many(map(str, paths), most=MAX_FILE)
            configs = [
                (Path(path), data.decode("utf-8", "replace"))
                for path, data in read.items()
                if isinstance(data, bytes)
            ]
            self._servers = load_servers(configs)
            for message in self._servers.problems:
                self.pi.warn(message, kind="warning")
        return self._servers

    def _user_folders(self) -> tuple[Path, Path]:
        environ = self.pi.context.environ
        home = Path(environ.get("HOME") or environ.get("USERPROFILE") or "~").expanduser()
        return home, Path(environ.get("PI_CODING_AGENT_DIR") or home / ".pi" / "agent")

    def forget_choices(self) -> None:
        """Forget the configuration and the found programs; the next use reads them again."""
        self._servers = None
        self._choices.clear()
        self._noted.clear()

    # Choosing -------------------------------------------------------------------------------------

    async def chosen(self, path: Path) -> list[Launch]:
        """The servers for a file that are installed and allowed, the language server first."""
        key = path.parent, path.suffix or path.name
        task = self._choices.get(key)
        if task is None:
            # In a task of its own: the user may take longer to decide than a write waits.
            task = self.pi.scope.spawn(self._choose(path), name=f"servers for {path.name}")
            self._choices[key] = task
        return await asyncio.shield(task)

    async def _choose(self, path: Path) -> list[Launch]:
        rows = (await self.servers()).matching(path)
        cwd = self.pi.context.cwd
        placed = [(row, root) for row in rows if (root := root_of(row, path, cwd)) is not None]
        placed.sort(key=lambda pair: not (pair[0].first and pair[0].needs_marker))
        main: list[Launch] = []
        linters: list[Launch] = []
        for row, root in placed:
            if row.is_linter or not main:
                allowed = await self._first_allowed(row, root)
                (linters if row.is_linter else main).extend(allowed)
        return main + linters

    async def _first_allowed(self, row: ServerRow, root: Path) -> list[Launch]:
        ctx = self.pi.context
        _, agent_dir = self._user_folders()
        for launch in launches(row, root, project=ctx.cwd, environ=ctx.environ, user_dir=agent_dir):
            if launch.consent is None or await ctx.consent.allowed([launch.consent]):
                return [launch]
        return []

    async def missing_note(self, path: Path) -> str:
        """A note about the missing server of a file; empty after the first for its kind."""
        rows = [row for row in (await self.servers()).matching(path) if not row.needs_marker]
        kind = path.suffix or path.name
        if not rows or not self.first_time(kind, "missing"):
            return ""
        hint = f" Install one, e.g.: {rows[0].install}" if rows[0].install else ""
        return f"No language server for {kind} files is available.{hint}"

    def first_time(self, name: str, message: str) -> bool:
        """Whether this is the first call with these arguments in the session."""
        is_first = (name, message) not in self._noted
        self._noted.add((name, message))
        return is_first

    # Running servers ------------------------------------------------------------------------------

    async def server(self, launch: Launch) -> LanguageServer:
        """The running server, synchronised with the disk. Raises ``ServerUnavailable``."""
        server = await self.pool.get(launch, self.user)
        await self.refresh(server)
        return server

    async def servers_for(self, path: Path) -> list[LanguageServer]:
        """All servers of a file that run or can be started."""
        servers = []
        for launch in await self.chosen(path):
            try:
                servers.append(await self.server(launch))
            except ServerUnavailable:
                continue
        return servers

    def slots(self) -> list[Slot]:
        """The servers of this project; the pool may have those of other projects."""
        cwd = self.pi.context.cwd
        return [
            slot
            for slot in self.pool.slots.values()
            if slot.launch.root.is_relative_to(cwd) or cwd.is_relative_to(slot.launch.root)
        ]

    def running(self) -> list[LanguageServer]:
        """The servers of this project that run now."""
        return [slot.server for slot in self.slots() if slot.server is not None]

    def commands_ran(self) -> None:
        """Scan the disk before the next query, because a command may have changed any file."""
        for server in self.running():
            server.disk_is_unknown = True

    async def read(self, path: Path) -> str | None:
        """The text of a file; ``None`` if it does not exist, is too large, or is not text."""
        try:
            data = await self.pi.context.files.read_file(str(path), most=MAX_TEXT)
            return data.decode("utf-8")
        except (FileFailed, UnicodeDecodeError):
            return None

    async def refresh(self, server: LanguageServer) -> None:
        """Send changes on the disk: of open documents, and of other files after a command."""
        for path, document in list(server.documents.items()):
            if document.stamp is None or disk_stamp(path) != document.stamp:
                await self._reread(server, path)
        if server.stamps is None:
            server.stamps = {}
            self.pi.scope.spawn(self._scan(server), name="scan")
        elif server.disk_is_unknown:
            server.disk_is_unknown = False
            await server.files_changed(await self._scan(server))

    async def _reread(self, server: LanguageServer, path: Path) -> None:
        stamp, text = disk_stamp(path), await self.read(path)
        if text is None:
            await server.close(path)
            return
        document = await server.sync(path, text)
        document.stamp = stamp

    async def _scan(self, server: LanguageServer) -> dict[Path, int]:
        """Files that were created, changed or deleted since the last scan."""
        try:
            now = await self.pi.context.files.scan(
                str(server.root), skip=_is_skipped, most=MAX_SCANNED
            )
        except FileFailed:
            return {}  # too many files: only changes of open documents are sent
        before, server.stamps = server.stamps or {}, dict(now)
        return _changes(server, before, now) if before else {}

    async def written(self, path: Path, text: str | None) -> None:
        """Send the new text of a file that a tool wrote; ``None`` if it was removed."""
        for server in self.running():
            if text is None:
                await server.close(path)
                await server.files_changed({path: DELETED})
            elif path in server.documents:
                document = await server.sync(path, text)
                document.stamp = disk_stamp(path)
                await server.saved(document)
            elif server.row.matches(path) and path.is_relative_to(server.root):
                await server.files_changed({path: CHANGED})

    async def open(self, server: LanguageServer, path: Path) -> bool:
        """Open a file as it is on the disk. Returns False if it cannot be read."""
        await self._reread(server, path)
        return path in server.documents

    def status(self) -> Json:
        """The servers, for ``/lsp`` and the ``status`` action."""
        rows: list[Json] = []
        for slot in self.slots():
            server = slot.server
            rows.append(
                {
                    "server": slot.launch.row.name,
                    "state": slot.state,
                    "root": str(slot.launch.root),
                    "command": str(slot.launch.program),
                    "documents": len(server.documents) if server else 0,
                    "progress": server.progress if server else "",
                    "memory": slot.memory,
                    "problem": slot.problem,
                }
            )
        return {"servers": rows}


def _is_skipped(name: str) -> bool:
    return name.endswith("/") and f"{Path(name).name}/" in SKIPPED


def _changes(
    server: LanguageServer, before: dict[str, FileStamp], now: dict[str, FileStamp]
) -> dict[Path, int]:
    changes: dict[Path, int] = {}
    for name in _relevant(server.row, {*before, *now}):
        if before.get(name) != now.get(name):
            kind = CREATED if name not in before else DELETED if name not in now else CHANGED
            changes[server.root / name] = kind
            if len(changes) >= MAX_EVENTS:
                break
    return changes


def _relevant(row: ServerRow, names: Iterable[str]) -> Sequence[str]:
    return [
        name
        for name in sorted(names)
        if row.matches(path := Path(name))
        or path.suffix in CONFIGURATION
        or path.name in row.root_markers
    ]


def status_row(server: Json) -> str:
    """One line about a server."""
    memory = f", {server['memory'] // 2**20} MB" if server["memory"] else ""
    more = server["problem"] if server["state"] == "failed" else server["progress"]
    tail = f": {more}" if more else ""
    documents = f"{server['documents']} documents"
    return f"{server['server']} [{server['state']}] {server['root']} ({documents}{memory}){tail}"

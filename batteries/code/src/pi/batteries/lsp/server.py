"""A running language server: its capabilities, its open documents, its progress."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from pi.batteries.lsp.config import ServerRow
from pi.batteries.lsp.connection import LspConnection, RequestFailed, UnknownMethod, within
from pi.batteries.lsp.positions import path_of, uri_of
from pi.extension import Child, Clock, Json

MAX_OPEN = 50
"""Maximum of open documents; the least recently used is closed."""
INDEX_SECONDS = 2.0
"""Seconds after which a server that has opened a file begins to index, if it will do so."""
CHANGED, CREATED, DELETED = 2, 1, 3
CAPABILITIES: Json = {
    "general": {"positionEncodings": ["utf-16"]},
    "window": {"workDoneProgress": True, "showMessage": {}},
    "workspace": {
        "applyEdit": True,
        "configuration": True,
        "workspaceFolders": True,
        "workspaceEdit": {
            "documentChanges": True,
            "resourceOperations": ["create", "rename", "delete"],
        },
        "didChangeConfiguration": {"dynamicRegistration": True},
        "didChangeWatchedFiles": {"dynamicRegistration": True, "relativePatternSupport": True},
        "fileOperations": {"willRename": True, "didRename": True},
        "diagnostics": {"refreshSupport": True},
        "symbol": {},
        "executeCommand": {},
    },
    "textDocument": {
        "synchronization": {"didSave": True, "dynamicRegistration": True},
        # Servers that register pull diagnostics publish none, so registrations are tracked.
        "diagnostic": {"dynamicRegistration": True, "relatedDocumentSupport": False},
        "publishDiagnostics": {"versionSupport": True, "codeDescriptionSupport": True},
        "hover": {"contentFormat": ["markdown", "plaintext"]},
        "definition": {"linkSupport": True},
        "typeDefinition": {"linkSupport": True},
        "implementation": {"linkSupport": True},
        "references": {},
        "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
        "formatting": {},
        "rename": {"prepareSupport": True},
        "codeAction": {
            "codeActionLiteralSupport": {
                "codeActionKind": {"valueSet": ["quickfix", "refactor", "source"]}
            },
            "dataSupport": True,
            "isPreferredSupport": True,
            "resolveSupport": {"properties": ["edit", "command"]},
        },
    },
}
PROVIDERS = {
    "textDocument/definition": "definitionProvider",
    "textDocument/typeDefinition": "typeDefinitionProvider",
    "textDocument/implementation": "implementationProvider",
    "textDocument/references": "referencesProvider",
    "textDocument/hover": "hoverProvider",
    "textDocument/documentSymbol": "documentSymbolProvider",
    "workspace/symbol": "workspaceSymbolProvider",
    "textDocument/rename": "renameProvider",
    "textDocument/codeAction": "codeActionProvider",
    "textDocument/formatting": "documentFormattingProvider",
    "textDocument/diagnostic": "diagnosticProvider",
}
"""Names of static capabilities by method."""


class Document:
    """A document that is open in a server."""

    def __init__(self, path: Path, text: str, language: str) -> None:
        self.path = path
        self.uri = uri_of(path)
        self.text = text
        self.language = language
        self.version = 1
        self.fenced = False
        """Whether the server has certainly read this version."""
        self.early = False
        """Whether a result without a version was published before ``fenced`` was set."""
        self.settled = True
        """Whether the results for the version before this one had arrived."""
        self.answered = False
        """Whether the results for this version have arrived."""
        self.pushed: list[Any] | None = None
        """Diagnostics that were published for this version."""
        self.exact = False
        """Whether the published diagnostics had a version."""
        self.arrived = asyncio.Event()
        self.stamp: tuple[int, int] | None = None
        """Size and time of the file with this text; ``None`` if it is not written yet."""

    def change(self, text: str) -> None:
        """Set a new text as the next version."""
        self.text = text
        self.version += 1
        self.fenced = self.early = False
        self.settled, self.answered = self.answered, False
        self.pushed = None
        self.arrived.clear()


class LanguageServer:
    """One server process for one root, after ``start``."""

    def __init__(
        self,
        row: ServerRow,
        root: Path,
        child: Child,
        *,
        clock: Clock,
        apply_edit: Callable[[LanguageServer, Json], Awaitable[bool]],
        on_progress: Callable[[], None],
    ) -> None:
        self.row = row
        self.root = root
        self.child = child
        self.clock = clock
        self.documents: dict[Path, Document] = {}
        self.capabilities: Json = {}
        self.refreshes = 0
        """Number of ``workspace/diagnostic/refresh`` requests of the server."""
        self.used_at = clock.monotonic()
        self.stamps: dict[str, Any] | None = None
        """The files below the root at the last scan; ``None`` before the first."""
        self.disk_is_unknown = False
        """Whether commands ran since the files were compared."""
        self._registered: dict[str, tuple[str, Json]] = {}
        self.pulls = asyncio.Event()
        """Set once the server has registered that it answers requests for diagnostics."""
        self._progress: dict[Any, Json] = {}
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._index_began = asyncio.Event()
        self._indexed = asyncio.Event()
        self._closed: set[Path] = set()
        self._apply_edit = apply_edit
        self._on_progress = on_progress
        self.connection = LspConnection(child, answer=self._answer, notified=self._notified)

    async def start(self) -> None:
        """Initialise the server. Raises ``ServerGone`` or ``RequestFailed``."""
        folder = {"uri": uri_of(self.root), "name": self.root.name or "root"}
        result = await self.connection.request(
            "initialize",
            {
                # Not the id of pi: in a sandbox the server would not find it, and would exit.
                "processId": None,
                "clientInfo": {"name": "pi"},
                "rootUri": folder["uri"],
                "rootPath": str(self.root),
                "workspaceFolders": [folder],
                "capabilities": CAPABILITIES,
                "initializationOptions": self.row.init_options or None,
            },
        )
        self.capabilities = (result or {}).get("capabilities") or {}
        await self.connection.notify("initialized", {})
        if self.row.settings:
            await self.connection.notify(
                "workspace/didChangeConfiguration", {"settings": self.row.settings}
            )

    # Capabilities ---------------------------------------------------------------------------------

    def supports(self, method: str) -> bool:
        """Whether the server has declared or registered a method."""
        declared = self.capabilities.get(PROVIDERS.get(method, ""))
        return bool(declared) or isinstance(declared, dict) or bool(self._registrations(method))

    def options(self, method: str) -> list[Json]:
        """The options of each provider of a method."""
        declared = self.capabilities.get(PROVIDERS.get(method, ""))
        own = [declared] if isinstance(declared, dict) else [{}] if declared else []
        return own + self._registrations(method)

    def _registrations(self, method: str) -> list[Json]:
        return [options for name, options in self._registered.values() if name == method]

    @property
    def registered(self) -> list[str]:
        """The methods that the server has registered."""
        return sorted({name for name, _ in self._registered.values()})

    # Documents ------------------------------------------------------------------------------------

    async def sync(self, path: Path, text: str) -> Document:
        """Open a document, or send its new text; nothing is sent if it is unchanged."""
        self.used_at = self.clock.monotonic()
        document = self.documents.pop(path, None)
        if document is None:
            document = Document(path, text, self.row.language(path))
            document.settled = path not in self._closed
            self.documents[path] = document
            await self.connection.notify("textDocument/didOpen", {"textDocument": _item(document)})
            if len(self.documents) > MAX_OPEN:
                await self.close(next(iter(self.documents)))
        else:
            self.documents[path] = document  # the most recently used is last
            if document.text != text:
                document.change(text)
                await self._send_change(document)
        return document

    async def resend(self, document: Document) -> None:
        """Send the same text as a new version, so that the server publishes again."""
        was_fenced = document.fenced
        document.change(document.text)
        document.fenced = was_fenced
        await self._send_change(document)

    async def _send_change(self, document: Document) -> None:
        await self.connection.notify(
            "textDocument/didChange",
            {
                "textDocument": {"uri": document.uri, "version": document.version},
                "contentChanges": [{"text": document.text}],
            },
        )

    async def saved(self, document: Document) -> None:
        """Send ``didSave``, if the server supports it."""
        sync = self.capabilities.get("textDocumentSync")
        save = sync.get("save") if isinstance(sync, dict) else None
        if not save and not self._registrations("textDocument/didSave"):
            return
        params: Json = {"textDocument": {"uri": document.uri}}
        if isinstance(save, dict) and save.get("includeText"):
            params["text"] = document.text
        await self.connection.notify("textDocument/didSave", params)

    async def close(self, path: Path) -> None:
        """Close a document, if it is open."""
        if (document := self.documents.pop(path, None)) is not None:
            if not document.answered:
                self._closed.add(path)
            await self.connection.notify(
                "textDocument/didClose", {"textDocument": {"uri": document.uri}}
            )

    async def files_changed(self, changes: Mapping[Path, int]) -> None:
        """Send ``didChangeWatchedFiles`` for files that were created, changed or deleted."""
        if changes:
            events = [{"uri": uri_of(path), "type": kind} for path, kind in changes.items()]
            await self.connection.notify("workspace/didChangeWatchedFiles", {"changes": events})

    async def request(self, method: str, params: Any) -> Any:
        """Send a request; retries if a change of the text has interrupted it."""
        self.used_at = self.clock.monotonic()
        for attempt in range(4):
            try:
                return await self.connection.request(method, params)
            except RequestFailed as error:
                if error.code not in (-32801, -32802) or attempt == 3:
                    raise
                await asyncio.sleep(0.05 * (attempt + 1))
        return None

    # Progress -------------------------------------------------------------------------------------

    @property
    def progress(self) -> str:
        """Title and percentage of the server's work; empty if it is idle."""
        for task in self._progress.values():
            title, share = task.get("title", ""), task.get("percentage")
            return f"{title} {share:.0f} %" if isinstance(share, int | float) else str(title)
        return ""

    async def until_quiet(self) -> None:
        """Wait until the server has finished loading, not until a named index is complete."""
        await self._quiet.wait()

    async def until_indexed(self) -> bool:
        """Wait until the server knows the whole project. Returns False if it builds no index."""
        await self.until_quiet()
        if not self.row.index_progress:
            return True
        try:
            await within(self.clock, INDEX_SECONDS, self._index_began.wait())
        except TimeoutError:
            return False
        await self._indexed.wait()
        return True

    # Messages of the server -----------------------------------------------------------------------

    def _notified(self, method: str, params: Any) -> None:
        match method, params:
            case "textDocument/publishDiagnostics", {"uri": str(uri), "diagnostics": list(items)}:
                self._published(uri, params.get("version"), items)
            case "$/progress", {"token": token, "value": dict(value)}:
                self._on_work(token, value)

    def _published(self, uri: str, version: Any, items: list[Any]) -> None:
        path = path_of(uri)
        document = self.documents.get(path) if path is not None else None
        if document is None:
            return
        is_current = version == document.version if version is not None else document.fenced
        if is_current:  # anything else is about an older text
            document.pushed = items
            document.exact = version is not None
            document.arrived.set()
        elif version is None:
            document.early = True

    def _on_work(self, token: Any, value: Json) -> None:
        is_end = value.get("kind") == "end"
        if is_end:
            self._progress.pop(token, None)
        else:
            self._progress[token] = self._progress.get(token, {}) | value
        if token == self.row.index_progress:
            # It may take minutes, and queries about one file need no index.
            self._index_began.set()
            (self._indexed.set if is_end else self._indexed.clear)()
        is_loading = any(token != self.row.index_progress for token in self._progress)
        (self._quiet.clear if is_loading else self._quiet.set)()
        self._on_progress()

    async def _answer(self, method: str, params: Any) -> Any:
        match method:
            case "client/registerCapability" | "client/unregisterCapability":
                self._register(params)
            case "workspace/configuration":
                items = params["items"]
                return [_section(self.row.settings, section.get("section")) for section in items]
            case "workspace/workspaceFolders":
                return [{"uri": uri_of(self.root), "name": self.root.name or "root"}]
            case "workspace/applyEdit":
                return {"applied": await self._apply_edit(self, params["edit"])}
            case "workspace/diagnostic/refresh":
                self.refreshes += 1
            case "window/showDocument":
                return {"success": False}
            case "window/workDoneProgress/create" | "window/showMessageRequest":
                pass
            case _:
                if not (method.startswith("workspace/") and method.endswith("/refresh")):
                    raise UnknownMethod
        return None

    def _register(self, params: Json) -> None:
        for registration in params.get("registrations") or ():
            self._registered[registration["id"]] = (
                registration["method"],
                registration.get("registerOptions") or {},
            )
            if registration["method"] == "textDocument/diagnostic":
                self.pulls.set()
        for registration in params.get("unregisterations") or ():  # spelled so by the protocol
            self._registered.pop(registration["id"], None)


def _item(document: Document) -> Json:
    return {
        "uri": document.uri,
        "languageId": document.language,
        "version": document.version,
        "text": document.text,
    }


def _section(settings: Json, name: str | None) -> Any:
    """A part of the settings by its dotted name."""
    section: Any = settings
    for part in (name or "").split(".") if name else ():
        section = section.get(part) if isinstance(section, dict) else None
    return section


def disk_stamp(path: Path) -> tuple[int, int] | None:
    """Size and time of a file; ``None`` if it does not exist."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns

"""The actions of the ``lsp`` tool."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Literal

from pi.batteries.lsp.connection import within
from pi.batteries.lsp.diagnostics import (
    details_of,
    diagnose,
    fresh_diagnostics,
    report,
)
from pi.batteries.lsp.pool import ServerUnavailable
from pi.batteries.lsp.positions import PositionedText, path_of, uri_of
from pi.batteries.lsp.results import hover_text, locations_from, symbol_kind, symbol_rows
from pi.batteries.lsp.server import LanguageServer
from pi.batteries.lsp.session import LspSession, status_row
from pi.batteries.lsp.writing import apply_steps, check_inside, plan_edit
from pi.extension import Json, Meta, PiError, Record, ToolContext, ToolFailed, ToolResult

Action = Literal[
    "diagnostics",
    "definition",
    "type_definition",
    "implementation",
    "references",
    "hover",
    "symbols",
    "rename",
    "rename_file",
    "code_actions",
    "status",
    "reload",
    "capabilities",
    "request",
]
LOCATING = {
    "definition": "textDocument/definition",
    "type_definition": "textDocument/typeDefinition",
    "implementation": "textDocument/implementation",
    "references": "textDocument/references",
}
PROJECT_WIDE = ("references", "implementation")
"""Actions of ``LOCATING`` whose result may be in files that were never opened."""
MAX_LISTED = 100
MAX_FILES = 20
DESCRIPTION = """\
Ask language servers about code.
- diagnostics: errors and warnings of `file` (also a glob)
- definition, type_definition, implementation, references, hover: of `symbol` on `line` of `file`
- symbols: of `file`; with `query` only matching ones, without `file` in the whole project
- rename: rename `symbol` to `new_name` in all files; rename_file: move `file` to `new_name`
- code_actions: list fixes for `line` of `file`; with `apply` and a `query` from the list, apply one
- status: servers and their states; reload: restart them; capabilities: what they can do
- request: send the method `query` with `payload` (JSON)
`symbol` may have #N for the N-th occurrence on the line. rename and rename_file only show what
would change if `apply` is false."""


MAX_SECONDS = 300
"""Maximum timeout of one call."""


class LspParams(Record, rename=None):
    """Arguments of a call of ``lsp``."""

    action: Action
    file: Annotated[str, Meta(description="File")] = ""
    line: Annotated[int | None, Meta(description="Line, from 1")] = None
    symbol: Annotated[str, Meta(description="Name on that line; name#2 for the second")] = ""
    query: Annotated[str, Meta(description="Filter, title of a code action, or method")] = ""
    new_name: Annotated[str, Meta(description="New name of a symbol or file")] = ""
    apply: Annotated[bool | None, Meta(description="Whether to change files")] = None
    timeout: Annotated[float, Meta(gt=0, le=MAX_SECONDS, description="Seconds; 20 if left out")] = (
        20.0
    )
    payload: Annotated[str, Meta(description="JSON parameters of a request")] = ""


class LspActions:
    """Runs calls of the tool."""

    def __init__(self, session: LspSession) -> None:
        self._session = session
        self._command_edits: list[str] = []
        """Edits that servers requested during the last command of a code action."""
        self._actions: dict[str, Callable[[LspParams], Awaitable[ToolResult]]] = {
            **dict.fromkeys(LOCATING, self._locations),
            "diagnostics": self._diagnostics,
            "hover": self._hover,
            "symbols": self._symbols,
            "rename": self._rename,
            "rename_file": self._rename_file,
            "code_actions": self._code_actions,
            "status": self._status,
            "reload": self._reload,
            "capabilities": self._capabilities,
            "request": self._request,
        }

    async def run(self, params: LspParams, ctx: ToolContext) -> ToolResult:
        """Run a call. Raises ``ToolFailed`` with an explanation for the model."""
        try:
            work = self._actions[params.action](params)
            return await within(self._session.clock, params.timeout, work)  # type: ignore[arg-type]
        except TimeoutError as error:
            busy = [f"{one.row.name}: {one.progress}" for one in self._session.running()]
            progress = "".join(f" ({text})" for text in busy if not text.endswith(": "))
            text = f"The server has not answered within {params.timeout:g} s{progress}."
            raise ToolFailed(f"{text} Try again with a larger timeout.") from error
        except ToolFailed:
            raise
        except PiError as error:
            raise ToolFailed(error.explain()) from error

    # Files and positions --------------------------------------------------------------------------

    def _path(self, params: LspParams) -> Path:
        if not params.file:
            raise ToolFailed(f"The action {params.action} needs `file`.")
        return Path(self._session.pi.context.files.real(params.file))

    async def _main(self, path: Path, method: str = "") -> LanguageServer:
        """The first server of a file that supports a method, with the file open.

        Raises ``ToolFailed`` if there is none.
        """
        launches = await self._session.chosen(path)
        if not launches:
            note = await self._session.missing_note(path)
            raise ToolFailed(note or f"No language server for {path.name} is available.")
        problems: list[str] = []
        for launch in launches:
            try:
                server = await self._session.server(launch)
            except ServerUnavailable as error:
                problems.append(error.message)
                continue
            if method and not server.supports(method):
                problems.append(f"{launch.row.name} does not support {method}.")
                continue
            if not await self._session.open(server, path):
                raise ToolFailed(f"Cannot read {path} as text.")
            await server.until_quiet()
            return server
        raise ToolFailed(" ".join(problems))

    async def _server_and_position(
        self, params: LspParams, method: str
    ) -> tuple[LanguageServer, Json]:
        """The server and the position of the symbol of a call."""
        path = self._path(params)
        server = await self._main(path, method)
        text = server.documents[path].text
        position = locate(text, params.line, params.symbol)
        return server, {"textDocument": {"uri": uri_of(path)}, "position": position}

    def _name(self, path: Path) -> str:
        cwd = self._session.pi.context.cwd
        return str(path.relative_to(cwd)) if path.is_relative_to(cwd) else str(path)

    # Queries --------------------------------------------------------------------------------------

    async def _locations(self, params: LspParams) -> ToolResult:
        method = LOCATING[params.action]
        server, position = await self._server_and_position(params, method)
        if params.action == "references":
            position["context"] = {"includeDeclaration": True}
        note = await _unseen(server) if params.action in PROJECT_WIDE else []
        locations = locations_from(await server.request(method, position))
        if not locations:
            nothing = f"No {params.action.replace('_', ' ')} found."
            return ToolResult.of("\n".join([nothing, *note]))
        rows = [await self._location(uri, range) for uri, range in locations[:MAX_LISTED]]
        if len(locations) > MAX_LISTED:
            rows.append(f"… {len(locations) - MAX_LISTED} more")
        return ToolResult.of("\n".join([*rows, *note]), details={"count": len(locations)})

    async def _location(self, uri: str, range: Json) -> str:
        path, start = path_of(uri), range["start"]
        if path is None:
            return f"{uri}:{start['line'] + 1}"
        lines = PositionedText(await self._session.read(path) or "")
        column = lines.offset(start) - lines.offset({"line": start["line"], "character": 0}) + 1
        source = lines.line(start["line"]).strip()[:200]
        return f"{self._name(path)}:{start['line'] + 1}:{column}: {source}"

    async def _hover(self, params: LspParams) -> ToolResult:
        server, position = await self._server_and_position(params, "textDocument/hover")
        result = await server.request("textDocument/hover", position)
        text = hover_text((result or {}).get("contents")).strip()
        return ToolResult.of(text or "There is no information about it.")

    async def _symbols(self, params: LspParams) -> ToolResult:
        if not params.file:
            return await self._project_symbols(params.query)
        path = self._path(params)
        server = await self._main(path, "textDocument/documentSymbol")
        symbols = await server.request(
            "textDocument/documentSymbol", {"textDocument": {"uri": uri_of(path)}}
        )
        rows = [
            row for row in symbol_rows(symbols or ()) if params.query.casefold() in row.casefold()
        ]
        return ToolResult.of("\n".join(rows[:MAX_LISTED]) or "No symbols found.")

    async def _project_symbols(self, query: str) -> ToolResult:
        rows: list[str] = []
        notes: list[str] = []
        running = self._session.running()
        for server in running:
            await self._session.refresh(server)
            if server.supports("workspace/symbol"):
                notes += await _unseen(server)
                for symbol in await server.request("workspace/symbol", {"query": query}) or ():
                    location = symbol["location"]
                    path = path_of(location["uri"])
                    line = location.get("range", {}).get("start", {}).get("line", 0) + 1
                    name = self._name(path) if path is not None else location["uri"]
                    rows.append(f"{symbol_kind(symbol)} {symbol['name']} {name}:{line}")
        if not running:
            raise ToolFailed("No language server runs yet. Name a `file` of the project.")
        rows = list(dict.fromkeys(rows))
        listed = rows[:MAX_LISTED] or ["No symbols found."]
        return ToolResult.of("\n".join([*listed, *notes]))

    async def _diagnostics(self, params: LspParams) -> ToolResult:
        paths = await self._matching_files(params)
        texts, items = [], list[Json]()
        for path in paths[:MAX_FILES]:
            names, diagnostics, problems = await diagnose(self._session, path, seconds=MAX_SECONDS)
            if not names:
                texts.append(f"{self._name(path)}: {' '.join(problems)}")
                continue
            texts.append(report(self._name(path), names, diagnostics))
            items += details_of(diagnostics)
        if len(paths) > MAX_FILES:
            texts.append(f"… {len(paths) - MAX_FILES} more files")
        return ToolResult.of("\n\n".join(texts), details={"diagnostics": {"items": items}})

    async def _matching_files(self, params: LspParams) -> list[Path]:
        if "*" not in params.file:
            return [self._path(params)]
        cwd = self._session.pi.context.cwd
        paths = await asyncio.to_thread(lambda: sorted(cwd.glob(params.file)))
        if not paths:
            raise ToolFailed(f"No file matches {params.file}.")
        return [path for path in paths if path.is_file()]

    # Changes --------------------------------------------------------------------------------------

    async def _rename(self, params: LspParams) -> ToolResult:
        if not params.new_name:
            raise ToolFailed("The action rename needs `new_name`.")
        server, position = await self._server_and_position(params, "textDocument/rename")
        note = await _unseen(server)
        edit = await server.request("textDocument/rename", {**position, "newName": params.new_name})
        if not edit:
            raise ToolFailed("The server cannot rename it. Check `line` and `symbol`.")
        changed = await self._change(server, edit, is_applied=params.apply is not False)
        return ToolResult.of("\n".join([_text(changed), *note]), details=changed.details)

    async def _rename_file(self, params: LspParams) -> ToolResult:
        if not params.new_name:
            raise ToolFailed("The action rename_file needs `new_name`.")
        path = self._path(params)
        files = self._session.pi.context.files
        target = files.resolve(params.new_name)
        if target.exists():
            raise ToolFailed(f"{target} exists already.")
        server = await self._main(path)
        move = {"files": [{"oldUri": uri_of(path), "newUri": uri_of(target)}]}
        edit: Json = {}
        operations = (server.capabilities.get("workspace") or {}).get("fileOperations") or {}
        if operations.get("willRename") or "workspace/willRenameFiles" in server.registered:
            edit = await server.request("workspace/willRenameFiles", move) or {}
        steps = await plan_edit(edit, self._session.read)
        check_inside(steps, [server.root, self._session.pi.context.cwd])
        moved = f"{self._name(path)} → {self._name(target)}"
        cwd = self._session.pi.context.cwd
        rows = [moved, *(step.describe(cwd) for step in steps)]
        if params.apply is False:
            return ToolResult.of("Would change:\n" + "\n".join(rows))
        await apply_steps(self._session.pi.context, steps)
        await files.move(str(path), str(target))
        if operations.get("didRename") or "workspace/didRenameFiles" in server.registered:
            await server.connection.notify("workspace/didRenameFiles", move)
        return ToolResult.of("Changed:\n" + "\n".join(rows))

    async def _change(self, server: LanguageServer, edit: Json, *, is_applied: bool) -> ToolResult:
        ctx = self._session.pi.context
        steps = await plan_edit(edit, self._session.read)
        check_inside(steps, [server.root, ctx.cwd])
        rows = [step.describe(ctx.cwd) for step in steps]
        if is_applied:
            await apply_steps(ctx, steps)
        head = "Changed:" if is_applied else "Would change:"
        return ToolResult.of("\n".join([head, *rows]), details={"files": len(steps)})

    async def apply_edit(self, server: LanguageServer, edit: Json) -> bool:
        """Apply an edit that a server requests while it runs a command."""
        try:
            changed = await self._change(server, edit, is_applied=True)
        except PiError as error:
            self._command_edits.append(f"The edit failed: {error.explain()}")
            raise
        self._command_edits.append(_text(changed))
        return True

    async def _code_actions(self, params: LspParams) -> ToolResult:
        path = self._path(params)
        actions: list[tuple[LanguageServer, Json]] = []
        for server in await self._session.servers_for(path):
            if server.supports("textDocument/codeAction"):
                await self._session.open(server, path)
                actions += [
                    (server, action) for action in await self._actions_at(server, path, params)
                ]
        if params.query:
            title = params.query.casefold()
            exact = [pair for pair in actions if pair[1]["title"].casefold() == title]
            actions = exact or [pair for pair in actions if title in pair[1]["title"].casefold()]
        if not actions:
            return ToolResult.of("There are no code actions here.")
        if not params.apply:
            rows = [f"{action['title']} [{server.row.name}]" for server, action in actions]
            return ToolResult.of("\n".join(rows[:MAX_LISTED]))
        titles = {action["title"] for _, action in actions}
        if len(titles) > 1:
            raise ToolFailed(
                "Several match; set `query` to one title:\n" + "\n".join(sorted(titles))
            )
        return await self._apply_action(*actions[0])

    async def _actions_at(
        self, server: LanguageServer, path: Path, params: LspParams
    ) -> list[Json]:
        lines = PositionedText(server.documents[path].text)
        if params.line is None:
            range = {"start": {"line": 0, "character": 0}, "end": lines.end}
        else:
            number = params.line - 1
            end = lines.position(number, len(lines.line(number)))
            range = {"start": {"line": number, "character": 0}, "end": end}
        diagnostics = [
            diagnostic.raw
            for diagnostic in await fresh_diagnostics(server, path)
            if params.line is None or diagnostic.line == params.line
        ]
        result = await server.request(
            "textDocument/codeAction",
            {
                "textDocument": {"uri": uri_of(path)},
                "range": range,
                "context": {"diagnostics": diagnostics, "triggerKind": 1},
            },
        )
        return [action for action in result or () if not action.get("disabled")]

    async def _apply_action(self, server: LanguageServer, action: Json) -> ToolResult:
        if isinstance(action.get("command"), str):  # a bare command, not a code action
            action = {"title": action["title"], "command": action}
        elif "edit" not in action and "data" in action:
            action = await server.request("codeAction/resolve", action) or action
        rows = [f"Applied: {action['title']}"]
        if edit := action.get("edit"):
            rows.append(_text(await self._change(server, edit, is_applied=True)))
        if command := action.get("command"):
            self._command_edits.clear()
            await server.request(
                "workspace/executeCommand",
                {"command": command["command"], "arguments": command.get("arguments") or []},
            )
            # A server may finish the command before the edit that it has requested is applied.
            await server.connection.replied()
            rows += self._command_edits
        return ToolResult.of("\n".join(rows))

    # Servers --------------------------------------------------------------------------------------

    async def _status(self, params: LspParams) -> ToolResult:
        status = self._session.status()
        rows = [status_row(server) for server in status["servers"]]
        return ToolResult.of(
            "\n".join(rows) or "No language server has been started.", details=status
        )

    async def _reload(self, params: LspParams) -> ToolResult:
        names = await self._session.pool.reload(params.query)
        self._session.forget_choices()
        return ToolResult.of(
            f"Ended: {', '.join(names) or 'none'}. The next use starts them again."
        )

    async def _capabilities(self, params: LspParams) -> ToolResult:
        path = self._path(params)
        rows = []
        for server in await self._session.servers_for(path):
            declared = sorted(key for key, value in server.capabilities.items() if value)
            rows.append(f"{server.row.name}: {', '.join(declared + server.registered)}")
        return ToolResult.of("\n".join(rows) or "No language server for this file is available.")

    async def _request(self, params: LspParams) -> ToolResult:
        if not params.query:
            raise ToolFailed("The action request needs the method in `query`.")
        try:
            payload = json.loads(params.payload) if params.payload.strip() else None
        except ValueError as error:
            raise ToolFailed(f"`payload` is not valid JSON: {error}.") from error
        path = self._path(params)
        server = await self._main(path)
        if payload is None:
            payload = {"textDocument": {"uri": uri_of(path)}}
            if params.line is not None:
                text = server.documents[path].text
                payload["position"] = locate(text, params.line, params.symbol)
        result = await server.request(params.query, payload)
        return ToolResult.of(json.dumps(result, indent=1, ensure_ascii=False))


async def _unseen(server: LanguageServer) -> list[str]:
    """Wait for the index of a server. Returns a note for the model if there is none."""
    if await server.until_indexed():
        return []
    text = f"Files that were not opened are not covered. {server.row.index_hint}".strip()
    return [f"Note: {text} Search for the name as text, too."]


def locate(text: str, line: int | None, symbol: str) -> Json:
    """The position of a symbol, or of the first character of a line.

    Without a line, the first occurrence of the symbol as a whole word. Raises ``ToolFailed``.
    """
    lines = PositionedText(text)
    name, _, number = symbol.partition("#")
    count = int(number) if number.isdigit() and int(number) > 0 else 1
    if line is None:
        if not name:
            raise ToolFailed("Name a `line`, a `symbol`, or both.")
        matches = [*re.finditer(_word(name), text)]
        if len(matches) < count:
            raise ToolFailed(f"There is no {symbol} in the file.")
        return lines.position_at(matches[count - 1].start())
    row = lines.line(line - 1)
    if not name:
        return lines.position(line - 1, len(row) - len(row.lstrip()))
    matches = [*re.finditer(_word(name), row)]
    if len(matches) < count:
        raise ToolFailed(f"There is no {symbol} on line {line}: {row.strip()[:200]}")
    return lines.position(line - 1, matches[count - 1].start())


def _text(result: ToolResult) -> str:
    return "\n".join(block.text for block in result.content if hasattr(block, "text"))


def _word(name: str) -> str:
    return rf"(?<!\w){re.escape(name)}(?!\w)"

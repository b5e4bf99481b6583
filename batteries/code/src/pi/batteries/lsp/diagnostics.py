"""Diagnostics of the current text of a document, never those of an older text."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pi.batteries.lsp.connection import RequestFailed, within
from pi.batteries.lsp.positions import PositionedText
from pi.batteries.lsp.results import Diagnostic, diagnostics_from
from pi.batteries.lsp.server import Document, LanguageServer
from pi.batteries.lsp.session import LspSession
from pi.extension import Json, PiError

RETRIED = (-32802, -32801, -32800)
"""Error codes of requests that a change has interrupted."""
MAX_ATTEMPTS = 20
QUIET_SECONDS = 0.15
"""How long to wait for a later result after a result without a version."""
RESEND_SECONDS = 1.0
"""Silence after which the text is sent again: some servers publish before the fence."""
MAX_SHOWN = 20
TSSERVER_SEVERITIES = {"error": 1, "warning": 2, "suggestion": 4, "message": 3}


class Superseded(PiError):
    """The document has changed meanwhile: there is no result for the older text."""


async def fresh_diagnostics(server: LanguageServer, path: Path) -> tuple[Diagnostic, ...]:
    """The diagnostics of the current text of an open document.

    Raises ``Superseded`` if the text changes meanwhile. There is no time limit.
    """
    document = server.documents[path]
    text = document.text
    if server.row.diagnostics == "tsserver":
        items = await _from_tsserver(server, document)
    elif server.supports("textDocument/diagnostic"):
        items = await _pulled(server, document)
    else:
        items = await _pushed_or_pulled(server, document)
    if server.documents.get(path) is not document or document.text != text:
        raise Superseded(f"{path} has changed.")
    document.answered = True
    return diagnostics_from(items, path, PositionedText(text), server.row.name)


async def _pulled(server: LanguageServer, document: Document) -> list[Any]:
    """Request diagnostics until nothing changes while the server computes its answer."""
    for attempt in range(MAX_ATTEMPTS):
        await server.until_quiet()
        version, refreshes = document.version, server.refreshes
        items: list[Any] = []
        try:
            for options in server.options("textDocument/diagnostic"):
                params: Json = {"textDocument": {"uri": document.uri}}
                if options.get("identifier") is not None:
                    params["identifier"] = options["identifier"]
                report = await server.connection.request("textDocument/diagnostic", params)
                items += (report or {}).get("items") or []
        except RequestFailed as error:
            if error.code not in RETRIED:
                raise
            await asyncio.sleep(min(0.05 * (attempt + 1), 0.5))
            continue
        if document.version != version:
            raise Superseded(f"{document.path} has changed.")
        if server.refreshes == refreshes and not server.progress:
            return items
    raise Superseded(f"{server.row.name} does not settle.")


async def _from_tsserver(server: LanguageServer, document: Document) -> list[Any]:
    """Query tsserver directly: published diagnostics mix old and new results."""
    items: list[Any] = []
    for command in ("syntacticDiagnosticsSync", "semanticDiagnosticsSync"):
        response = await server.connection.request(
            "workspace/executeCommand",
            {
                "command": "typescript.tsserverRequest",
                "arguments": [command, {"file": document.uri}],
            },
        )
        for diagnostic in (response or {}).get("body") or ():
            start, end = diagnostic["start"], diagnostic["end"]
            items.append(
                {
                    "range": {
                        "start": {"line": start["line"] - 1, "character": start["offset"] - 1},
                        "end": {"line": end["line"] - 1, "character": end["offset"] - 1},
                    },
                    "message": diagnostic.get("text", ""),
                    "code": diagnostic.get("code"),
                    "severity": TSSERVER_SEVERITIES.get(diagnostic.get("category", ""), 1),
                    "source": "typescript",
                }
            )
    return items


async def _pushed_or_pulled(server: LanguageServer, document: Document) -> list[Any]:
    """Wait for published diagnostics; request them if the server registers that meanwhile."""
    pushed = asyncio.ensure_future(_pushed(server, document))
    registered = asyncio.ensure_future(server.pulls.wait())
    try:
        await asyncio.wait({pushed, registered}, return_when=asyncio.FIRST_COMPLETED)
        if pushed.done():
            return pushed.result()
    finally:
        registered.cancel()
        if not pushed.done():
            pushed.cancel()
            with suppress(asyncio.CancelledError, PiError):
                await pushed
    return await _pulled(server, document)


async def _pushed(server: LanguageServer, document: Document) -> list[Any]:
    """Wait for the diagnostics that the server publishes for this version.

    A result with another version is dropped on arrival. A result without a version is accepted
    once the server has certainly read this text. If results of older texts may still arrive, the
    text is sent again, and only a repeated result is accepted.
    """
    await _fence(server, document)
    was_settled = document.settled
    before: list[Any] | None = None
    seconds: float | None = 0.0 if document.early else RESEND_SECONDS
    while True:
        items = await _arrival(document, seconds)
        if items is not None and (document.exact or was_settled or items == before):
            return items
        before, seconds = items, None
        await server.resend(document)


async def _fence(server: LanguageServer, document: Document) -> None:
    """Wait for the answer to a request: the server has then read all messages before it."""
    version = document.version
    with suppress(RequestFailed):  # the answer counts, not its content
        await server.connection.request(
            "textDocument/documentSymbol", {"textDocument": {"uri": document.uri}}
        )
    if document.version != version:
        raise Superseded(f"{document.path} has changed.")
    document.fenced = True


async def _arrival(document: Document, seconds: float | None) -> list[Any] | None:
    """The published result for this version; ``None`` after ``seconds`` without one."""
    version = document.version
    try:
        async with asyncio.timeout(seconds):
            await document.arrived.wait()
    except TimeoutError:
        return None
    items: list[Any] | None = document.pushed if document.exact else None
    while document.version == version and items is not document.pushed:
        items = document.pushed
        await asyncio.sleep(QUIET_SECONDS)
    if document.version != version:
        raise Superseded(f"{document.path} has changed.")
    return items


# Reports ------------------------------------------------------------------------------------------


def without_repeats(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The diagnostics by position, without duplicates from several servers."""
    seen: dict[tuple[int, int, str], Diagnostic] = {}
    for diagnostic in diagnostics:
        seen.setdefault((diagnostic.line, diagnostic.column, diagnostic.message), diagnostic)
    return sorted(seen.values(), key=lambda diagnostic: (diagnostic.line, diagnostic.column))


def report(name: str, servers: Sequence[str], diagnostics: Sequence[Diagnostic]) -> str:
    """The errors and warnings of a file as text for the model, errors first."""
    problems = [diagnostic for diagnostic in diagnostics if diagnostic.is_problem]
    by = ", ".join(servers)
    if not problems:
        return f"Diagnostics of {name}: no problems ({by})."
    counts = count_text(problems)
    listed = sorted(problems, key=lambda diagnostic: diagnostic.severity != "error")[:MAX_SHOWN]
    lines = [
        f"Diagnostics of {name}: {counts} ({by})",
        *(diagnostic.describe() for diagnostic in listed),
    ]
    if len(problems) > len(listed):
        lines.append(f"… {len(problems) - len(listed)} more")
    return "\n".join(lines)


def count_text(problems: Sequence[Diagnostic]) -> str:
    """``2 errors, 1 warning``."""
    parts = []
    for severity in ("error", "warning"):
        if count := sum(diagnostic.severity == severity for diagnostic in problems):
            parts.append(f"{count} {severity}{'s' * (count != 1)}")
    return ", ".join(parts) or "no problems"


def details_of(diagnostics: Iterable[Diagnostic]) -> list[Json]:
    """Diagnostics as data, for views and other programs."""
    return [
        {
            "path": diagnostic.path,
            "line": diagnostic.line,
            "column": diagnostic.column,
            "severity": diagnostic.severity,
            "message": diagnostic.message,
            "code": diagnostic.code,
            "source": diagnostic.source,
        }
        for diagnostic in diagnostics
        if diagnostic.is_problem
    ]


async def diagnose(
    session: LspSession, path: Path, *, seconds: float
) -> tuple[list[str], list[Diagnostic], list[str]]:
    """Names of the servers that answered, their diagnostics, and problems.

    A server that does not answer within ``seconds`` is a problem.
    """
    names, diagnostics, problems = list[str](), list[Diagnostic](), list[str]()
    launches = await session.chosen(path)
    if not launches:
        rows = (await session.servers()).matching(path)
        hint = f" Install one, e.g.: {rows[0].install}" if rows else ""
        problems.append(f"No language server is available.{hint}")
    for launch in launches:
        try:
            server = await session.server(launch)
            if not await session.open(server, path):
                problems.append("It does not exist, or is not a text file.")
                break
            if launch.no_diagnostics:
                problems.append(launch.no_diagnostics)
                continue
            work = fresh_diagnostics(server, path)
            diagnostics += await within(session.clock, seconds, work)
            names.append(launch.row.name)
        except TimeoutError:
            problems.append(f"{launch.row.name} has not answered within {seconds:g} s.")
        except Superseded:
            problems.append(f"{launch.row.name}: the file changed meanwhile.")
        except PiError as error:
            problems.append(error.message)
    if session.pi.settings.get("lsp.diagnosticsDeduplicate"):
        diagnostics = without_repeats(diagnostics)
    return names, diagnostics, problems

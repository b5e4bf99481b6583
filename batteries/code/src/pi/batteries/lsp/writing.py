"""Writes files: formatting and diagnostics around writes of tools, and edits by servers.

A write of a tool is formatted first, then written; then its diagnostics are reported. A workspace
edit is computed for all files first, then written through the file layers.
"""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from pi.batteries.lsp.connection import within
from pi.batteries.lsp.diagnostics import (
    Superseded,
    count_text,
    details_of,
    fresh_diagnostics,
    report,
    without_repeats,
)
from pi.batteries.lsp.launch import Launch
from pi.batteries.lsp.pool import ServerUnavailable
from pi.batteries.lsp.positions import apply_edits, path_of
from pi.batteries.lsp.protocol import BadLspMessage
from pi.batteries.lsp.results import Diagnostic
from pi.batteries.lsp.server import disk_stamp
from pi.batteries.lsp.session import MAX_TEXT, LspSession
from pi.extension import (
    Boundary,
    CustomMessageEntry,
    ExtensionContext,
    FileChange,
    FileWrite,
    FileWritten,
    Json,
    Next,
    PiError,
    Policy,
    Record,
    replace,
)

WRITE_SECONDS = 3.0
"""How long a write waits for all servers together."""
CHECK_SECONDS = 0.5
"""The part of that time which is reserved for diagnostics after formatting."""
SILENT_SECONDS = 0.5
"""How long a write waits for a server that did not answer in time before."""
LATE_SECONDS = 25.0
"""How long late results are awaited after that."""
LATE_NOTE = "lsp-diagnostics"
MAX_DIFF_LINES = 40
ReadText = Callable[[Path], Awaitable[str | None]]


class Checked(Record):
    """The result of one server for a written file."""

    server: str
    diagnostics: tuple[Diagnostic, ...] | None = None
    """``None`` if there is no result for this text."""
    note: str = ""


class WriteThrough:
    """A file layer. ``WRITE_SECONDS`` limits all work of servers during a write."""

    def __init__(self, session: LspSession) -> None:
        self._session = session
        self._settings = session.pi.settings
        self._clock = session.clock
        self._tools: dict[str, str] = {}
        self._silent: set[str] = set()
        """Servers that did not answer in time; writes wait ``SILENT_SECONDS`` for them."""
        self._late: dict[Path, tuple[str, str]] = {}
        """Late results by file: the checked text, and the report."""

    def call_started(self, call_id: str, tool: str) -> None:
        """Record the tool of a call."""
        self._tools[call_id] = tool

    def call_ended(self, call_id: str) -> None:
        """Remove the record of a call."""
        self._tools.pop(call_id, None)

    async def layer(self, change: FileChange, write: FileWrite) -> FileWritten:
        """Write a file, with formatting and diagnostics by its servers for writes of tools."""
        rows = (await self._session.servers()).matching(change.path)
        text = _text_of(change)
        if not rows or text is None or not change.call_id:
            written = await write(change)
            if change.after is None or text is not None:
                await self._session.written(change.path, text)
            return written
        ends = self._clock.monotonic() + WRITE_SECONDS
        formatted, note = await self._formatted(change, text, ends)
        after = change if formatted == text else replace(change, after=formatted.encode())
        written = await write(after)
        self._late.pop(change.path, None)  # the report of an older text
        notes: tuple[str, ...] = (note,) if note else ()
        details: Json = {}
        if self._wants_diagnostics(change):
            more, details = await self._diagnosed(change.path, formatted, ends)
            notes += more
        else:
            await self._session.written(change.path, formatted)
        return replace(
            written, notes=(*written.notes, *notes), details={**written.details, **details}
        )

    def _wants_diagnostics(self, change: FileChange) -> bool:
        tool = self._tools.get(change.call_id, "")
        if tool == "lsp":
            return False
        name = "lsp.diagnosticsOnEdit" if tool == "edit" else "lsp.diagnosticsOnWrite"
        return bool(self._settings.get(name))

    # Formatting -----------------------------------------------------------------------------------

    async def _formatted(self, change: FileChange, text: str, ends: float) -> tuple[str, str]:
        """The formatted text and a note about it; the text itself if it cannot be formatted."""
        formats = self._settings.get("lsp.formatOnWrite")
        if not formats or self._tools.get(change.call_id) == "lsp":
            return text, ""
        try:
            seconds = ends - self._clock.monotonic() - CHECK_SECONDS
            done = await within(self._clock, seconds, self._format(change.path, text))
        except (TimeoutError, PiError):
            return text, ""
        if done is None or done[0] == text:
            return text, ""
        formatted, name = done
        excerpt = _changed_lines(text, formatted)
        return (
            formatted,
            f"{name} formatted {change.path.name}. On disk, in place of your text:\n{excerpt}",
        )

    async def _format(self, path: Path, text: str) -> tuple[str, str] | None:
        """The formatted text and the server that formatted; linters come first.

        ``None`` if no server can format.
        """
        launches = await self._session.chosen(path)
        for launch in sorted(launches, key=lambda launch: not launch.row.is_linter):
            server = await self._session.server(launch)
            if not server.supports("textDocument/formatting"):
                continue
            document = await server.sync(path, text)
            document.stamp = None  # not on the disk yet
            options = {"tabSize": 4, "insertSpaces": "\n\t" not in text, "trimFinalNewlines": True}
            edits = await server.request(
                "textDocument/formatting",
                {"textDocument": {"uri": document.uri}, "options": options},
            )
            return apply_edits(text, edits or ()), server.row.name
        return None

    # Diagnostics ----------------------------------------------------------------------------------

    async def _diagnosed(self, path: Path, text: str, ends: float) -> tuple[tuple[str, ...], Json]:
        scope, stamp = self._session.pi.scope, disk_stamp(path)
        try:
            choosing = self._session.chosen(path)
            launches = await within(self._clock, ends - self._clock.monotonic(), choosing)
        except TimeoutError:
            return (), {}  # the user has not decided about a server yet
        if not launches:
            note = await self._session.missing_note(path)
            return ((note,) if note else ()), {}
        tasks = {
            scope.spawn(self._check(launch, path, text, stamp), name=launch.row.name): launch
            for launch in launches
        }
        awaited = await self._await_in_time(tasks, ends)
        notes = [self._silence_note(tasks[task]) for task in awaited]
        late = {task: launch for task, launch in tasks.items() if not task.done()}
        if late:
            scope.spawn(self._await_late(path, text, late), name="late diagnostics")
        checked = [task.result() for task in tasks if task.done()]
        return self._reported(path, checked, notes)

    async def _await_in_time(
        self, tasks: dict[asyncio.Task[Checked], Launch], ends: float
    ) -> set[asyncio.Task[Checked]]:
        """Wait for all servers, but only briefly for silent ones. Returns unfinished checks."""
        now = self._clock.monotonic()
        silent = {task for task, launch in tasks.items() if launch.key in self._silent}
        limit = asyncio.ensure_future(self._clock.sleep(ends - now))
        short = asyncio.ensure_future(self._clock.sleep(min(SILENT_SECONDS, ends - now)))
        awaited = set(tasks)
        try:
            while awaited and not limit.done() and not (short.done() and awaited <= silent):
                clocks = {limit} if short.done() else {limit, short}
                await asyncio.wait({*awaited, *clocks}, return_when=asyncio.FIRST_COMPLETED)
                awaited = {task for task in awaited if not task.done()}
        finally:
            limit.cancel()
            short.cancel()
        return awaited

    def _reported(
        self, path: Path, checked: list[Checked], notes: list[str]
    ) -> tuple[tuple[str, ...], Json]:
        notes += [check.note for check in checked]
        answered = [check for check in checked if check.diagnostics is not None]
        details: Json = {}
        if answered:
            diagnostics = [entry for check in answered for entry in check.diagnostics or ()]
            if self._settings.get("lsp.diagnosticsDeduplicate"):
                diagnostics = without_repeats(diagnostics)
            names = [check.server for check in answered]
            notes.insert(0, report(self._name(path), names, diagnostics))
            problems = [entry for entry in diagnostics if entry.is_problem]
            details["diagnostics"] = {
                "servers": names,
                "summary": count_text(problems),
                "items": details_of(diagnostics),
            }
        return tuple(filter(None, notes)), details

    async def _check(
        self, launch: Launch, path: Path, text: str, stamp: tuple[int, int] | None
    ) -> Checked:
        """Send the new text to one server and wait for its diagnostics."""
        name = launch.row.name
        try:
            server = await self._session.server(launch)
            is_new = path not in server.documents
            document = await server.sync(path, text)
            document.stamp = stamp
            if is_new:
                await server.files_changed({path: 1})
            await server.saved(document)
            if launch.no_diagnostics:
                first = self._session.first_time(launch.key, "no diagnostics")
                return Checked(server=name, note=launch.no_diagnostics if first else "")
            diagnostics = await fresh_diagnostics(server, path)
        except ServerUnavailable as error:
            first = self._session.first_time(launch.key, error.fault)
            return Checked(server=name, note=error.message if first else "")
        except Superseded:
            return Checked(server=name)
        except PiError as error:
            await self._session.pool.record_end(launch)
            first = self._session.first_time(launch.key, "crash")
            note = f"{name} could not check the file: {error.message}"
            return Checked(server=name, note=note if first else "")
        self._silent.discard(launch.key)
        return Checked(server=name, diagnostics=diagnostics)

    def _silence_note(self, launch: Launch) -> str:
        self._silent.add(launch.key)
        if not self._session.first_time(launch.key, "silent"):
            return ""
        return (
            f"{launch.row.name} has not answered within {WRITE_SECONDS:g} s."
            " Its diagnostics follow when they arrive."
        )

    def _name(self, path: Path) -> str:
        cwd = self._session.pi.context.cwd
        return str(path.relative_to(cwd)) if path.is_relative_to(cwd) else str(path)

    # Late results ---------------------------------------------------------------------------------

    async def _await_late(
        self, path: Path, text: str, tasks: dict[asyncio.Task[Checked], Launch]
    ) -> None:
        """Wait for late results, and keep them for the next turn."""
        limit = asyncio.ensure_future(self._clock.sleep(LATE_SECONDS))
        waiting = set(tasks)
        try:
            while waiting and not limit.done():
                await asyncio.wait({*waiting, limit}, return_when=asyncio.FIRST_COMPLETED)
                waiting = {task for task in waiting if not task.done()}
        finally:
            limit.cancel()
            for task in waiting:
                task.cancel()
        checked = [task.result() for task in tasks if task.done() and not task.cancelled()]
        notes, _ = self._reported(path, checked, [])
        if notes:
            self._late[path] = text, "\n".join(notes)

    async def take_late(self) -> str:
        """Remove and return the late results of files whose text has not changed since."""
        late, self._late = self._late, {}
        reports = [
            note for path, (text, note) in late.items() if await self._session.read(path) == text
        ]
        return "\n\n".join(reports)


class LateNotes(Policy):
    """Sends late diagnostics with the next request of the model."""

    def __init__(self, writes: WriteThrough) -> None:
        self._writes = writes

    async def at_boundary(self, boundary: Boundary) -> Next:
        """Add late diagnostics between two turns, and before a prompt."""
        continues = boundary.kind == "prompt" or (
            boundary.kind == "turn" and bool(boundary.results)
        )
        if not continues or not (text := await self._writes.take_late()):
            return boundary.next
        entry = CustomMessageEntry(custom_type=LATE_NOTE, content=text, display=True)
        return replace(boundary.next, entries=(*boundary.next.entries, entry))


def _text_of(change: FileChange) -> str | None:
    if change.after is None or len(change.after) > MAX_TEXT:
        return None
    try:
        return change.after.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _changed_lines(before: str, after: str) -> str:
    """The lines that formatting changed, as a short diff."""
    rows = list(difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0))[2:]
    if len(rows) > MAX_DIFF_LINES:
        rows = [*rows[:MAX_DIFF_LINES], f"… {len(rows) - MAX_DIFF_LINES} more lines"]
    return "\n".join(rows)


class FileStep(Record):
    """One step of a workspace edit."""

    kind: str
    """``write``, ``create``, ``rename`` or ``delete``."""
    path: Path
    text: str = ""
    target: Path | None = None
    edits: int = 0

    def describe(self, cwd: Path) -> str:
        """One line for the model."""
        name = _short(self.path, cwd)
        if self.kind == "write":
            return f"{name}: {self.edits} edit{'s' * (self.edits != 1)}"
        if self.target is not None:
            return f"{name} → {_short(self.target, cwd)}"
        return f"{name}: {self.kind}d"


async def plan_edit(edit: Mapping[str, Any], read: ReadText) -> list[FileStep]:
    """The steps of a workspace edit, with the new texts. Raises ``BadLspMessage``."""
    changes = edit.get("documentChanges")
    if changes is None:
        changes = [
            {"textDocument": {"uri": uri}, "edits": edits}
            for uri, edits in (edit.get("changes") or {}).items()
        ]
    steps: list[FileStep] = []
    texts: dict[Path, str] = {}
    for change in changes:
        if "kind" in change:
            steps.append(_resource_step(change, texts))
            continue
        path = _path(change["textDocument"]["uri"])
        before = texts.get(path)
        if before is None:
            before = await read(path)
        if before is None:
            raise BadLspMessage(f"Cannot read {path}, which the server wants to change.")
        texts[path] = apply_edits(before, change["edits"])
        step = FileStep(kind="write", path=path, text=texts[path], edits=len(change["edits"]))
        steps.append(step)
    return steps


def _resource_step(change: Mapping[str, Any], texts: dict[Path, str]) -> FileStep:
    match change["kind"]:
        case "rename":
            old, new = _path(change["oldUri"]), _path(change["newUri"])
            if old in texts:
                texts[new] = texts.pop(old)
            return FileStep(kind="rename", path=old, target=new)
        case "create":
            path = _path(change["uri"])
            texts[path] = ""
            return FileStep(kind="create", path=path)
        case "delete":
            return FileStep(kind="delete", path=_path(change["uri"]))
        case kind:
            raise BadLspMessage(f"The server wants an unknown change: {kind}.")


async def apply_steps(ctx: ExtensionContext, steps: list[FileStep]) -> None:
    """Apply all steps through the file layers."""
    for step in steps:
        match step.kind:
            case "write" | "create":
                await ctx.files.write_file(str(step.path), step.text.encode())
            case "delete":
                await ctx.files.remove(str(step.path), recursive=True)
            case "rename" if step.target is not None:
                await ctx.files.move(str(step.path), str(step.target))


def check_inside(steps: list[FileStep], roots: list[Path]) -> None:
    """Raise ``PiError`` if a step changes a file outside of these folders."""
    for step in steps:
        for path in filter(None, (step.path, step.target)):
            if not any(path.is_relative_to(root) for root in roots):
                raise PiError(
                    f"The server wants to change {path}, which is outside of the project."
                )


def _path(uri: str) -> Path:
    path = path_of(uri)
    if path is None:
        raise BadLspMessage(f"The server wants to change {uri}, which is not a file.")
    return path


def _short(path: Path, cwd: Path) -> str:
    return str(path.relative_to(cwd)) if path.is_relative_to(cwd) else str(path)

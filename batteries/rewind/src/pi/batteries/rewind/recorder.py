"""Records the points of a session, and the file changes of its tools and commands.

All disk access runs in one thread, in order. A prompt starts a capture while the model answers;
the first tool call waits for it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pi.extension import (
    BeforeAgentStartEvent,
    Boundary,
    Custom,
    Entry,
    ExtensionAPI,
    ExtensionContext,
    FileChange,
    FileWrite,
    FileWritten,
    Next,
    PiError,
    Policy,
    ToolCall,
    ToolResult,
    UserCommandEndEvent,
    UserCommandStartEvent,
    WorkerProcess,
    replace,
)

if TYPE_CHECKING:
    # Deferred: nothing is saved before the first prompt.
    from pi.batteries.rewind.history import History
    from pi.batteries.rewind.restoring import Interrupted
    from pi.batteries.rewind.settings import StoreLimits
    from pi.batteries.rewind.store import Store
    from pi.batteries.rewind.timeline import Author

ENTRY = "rewind-point"
"""Custom type of the entries that link points with the conversation."""
FRESH_SECONDS = 0.25
"""If the last capture is not older, the next command starts without a capture before it.

Thus each command in a series takes one scan instead of two.
"""
SCAN_SECONDS = 120.0
"""Timeout of the scanner process; after it, scans run in the thread."""
OTHER_WORK = ("user ", "work ")
"""Prefixes of the ids of running work that is not a tool call."""
UNTRUSTED = "the project is not trusted"
T = TypeVar("T")


class Recorder:
    """Owns the history of the session, and the thread and captures that fill it."""

    def __init__(self, pi: ExtensionAPI, limits: Callable[[], StoreLimits]) -> None:
        self._pi = pi
        self._limits = limits
        self._history: History | None = None
        self._thread: ThreadPoolExecutor | None = None
        self._point: asyncio.Task[None] | None = None
        self._scanner: WorkerProcess | None = None
        self._captures: set[asyncio.Task[Any]] = set()
        self._running: dict[str, str] = {}
        """Running work that may change files: descriptions by id."""
        self._captured_at = -1.0
        self._prompt = ""
        self.is_recording = False
        """Whether changes are recorded: the setting is on, and no capture has failed."""
        self._has_reported = False
        self.interrupted: Interrupted | None = None
        """A restoration of this project that was not finished when the session opened."""

    # History --------------------------------------------------------------------------------------

    @property
    def store(self) -> Store:
        """The store with the limits of the settings."""
        from pi.batteries.rewind.store import Store

        return Store(self._pi.data_directory(), self._limits())

    async def opened(self) -> History:
        """The history of this session, opened at the first call."""
        if self._history is None:
            self._history = await self.run(self._open, self._make(), self._parent())
        return self._history

    async def run(self, work: Callable[..., T], *arguments: Any) -> T:
        """Call a function in the thread. It is not cancelled with the caller."""
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="rewind")
        loop = asyncio.get_running_loop()
        return await asyncio.shield(loop.run_in_executor(self._thread, work, *arguments))

    def _make(self) -> History:
        from pi.batteries.rewind.history import History, SessionRef
        from pi.batteries.rewind.scan import refused_root

        ctx = self._pi.context
        home = Path(ctx.environ.get("HOME") or Path.home())
        refused = "" if ctx.is_project_trusted() else UNTRUSTED
        session = SessionRef(
            id=ctx.session_manager.get_session_id(),
            file=ctx.session_manager.get_session_file() or "",
        )
        return History(
            self.store,
            ctx.cwd,
            session,
            refused=refused_root(ctx.cwd, home) or refused,
            now_ms=self._pi.scope.clock.now_ms,
            ask_scanner=partial(self._ask_scanner, asyncio.get_running_loop()),
        )

    def _ask_scanner(self, loop: asyncio.AbstractEventLoop, request: Any) -> Any:
        """Send a request to the scanner process. Called in the thread. Raises ``ScannerLost``."""
        from pi.batteries.rewind.scan_process import FUNCTION, ScannerLost

        if self._scanner is None:
            self._scanner = WorkerProcess(self._pi, FUNCTION, kind="scanner")
        asking = self._scanner.ask(request, seconds=SCAN_SECONDS)
        try:
            answers = asyncio.run_coroutine_threadsafe(asking, loop).result()
        except (PiError, CancelledError) as error:
            raise ScannerLost(str(error)) from error
        if not answers:
            raise ScannerLost("it does not answer")
        return answers[0]

    def _open(self, history: History, parent: str) -> History:
        from pi.batteries.rewind.restoring import record_interrupted

        history.open(copy_from=parent)
        self.interrupted = record_interrupted(history)
        return history

    def _parent(self) -> str:
        """Id of the session that this one was forked from, read from its entries; or empty."""
        manager = self._pi.context.session_manager
        own = manager.get_session_id()
        for entry in reversed(manager.get_branch()):
            if (data := point_data(entry)) is not None:
                session_id = data.get("session")
                return (
                    session_id
                    if isinstance(session_id, str) and session_id != own and _is_name(session_id)
                    else ""
                )
        return ""

    async def close(self) -> None:
        """Wait for running work, close the history, and end thread and scanner process."""
        await self.settled()
        if self._history is not None:
            await self.run(self._history.close)
            self._history = None
        if self._thread is not None:
            self._thread.shutdown(wait=False)
            self._thread = None
        if self._scanner is not None:
            await self._scanner.stop()
            self._scanner = None

    # Points and captures --------------------------------------------------------------------------

    def before_agent_start(self, event: BeforeAgentStartEvent, ctx: ExtensionContext) -> None:
        """Remember the prompt, to name the point."""
        self._prompt = event.prompt

    def start_point(self) -> Custom | None:
        """Start the capture of a point. Returns the entry for it; ``None`` if not recording."""
        if not self.is_recording:
            return None
        id, prompt = os.urandom(4).hex(), self._prompt
        self._prompt = ""
        earlier = self._point

        async def capture() -> None:
            if earlier is not None:
                await asyncio.wait({earlier})
            await self._capture(self._author())
            history = await self.opened()
            await self.run(history.add_point, id, prompt)
            await self._report_once(history)

        self._point = self._pi.scope.spawn(self._guard(capture()), name="capture at a prompt")
        session = self._pi.context.session_manager.get_session_id()
        return Custom(custom_type=ENTRY, data={"id": id, "session": session})

    async def before_command(self, id: str, what: str) -> None:
        """Capture changes from outside before work that may change any file."""
        if not self.is_recording:
            return
        await self.settled()
        age = self._pi.scope.clock.monotonic() - self._captured_at
        if not self._running and age > FRESH_SECONDS:
            await self._guard(self._capture(self._author()))
        self._running[id] = what

    def after_command(self, id: str, by: Author = "command") -> None:
        """Start a capture of the changes of a command. Does not wait for it."""
        what = self._running.pop(id, None)
        if what is not None and self.is_recording:
            task = self._pi.scope.spawn(self._guard(self._capture(by, what)), name="capture")
            self._captures.add(task)
            task.add_done_callback(self._captures.discard)

    @asynccontextmanager
    async def capturing(self, what: str) -> AsyncIterator[None]:
        """Capture before and after work of another extension, e.g. a merge by git."""
        id = f"work {os.urandom(4).hex()}"
        await self.before_command(id, what)
        try:
            yield
        finally:
            self.after_command(id)
            await self.commands_captured()

    def settle(self) -> None:
        """End aborted tool calls, for which ``after_tool`` is not called."""
        for id in tuple(self._running):
            if not id.startswith(OTHER_WORK):
                self.after_command(id)

    async def _capture(self, by: Author, what: str = "") -> None:
        history = await self.opened()
        await self.run(history.capture, by, what)
        self._captured_at = self._pi.scope.clock.monotonic()

    async def commands_captured(self) -> None:
        """Wait for the captures after commands, not for that of the prompt."""
        if self._captures:
            await asyncio.wait(set(self._captures))

    async def settled(self) -> None:
        """Wait for all running captures."""
        tasks = {*self._captures, *([self._point] if self._point is not None else [])}
        if tasks:
            await asyncio.wait(tasks)

    def _author(self) -> Author:
        """The author of changes since the last capture: a running command or job, or outside."""
        jobs = self._pi.context.jobs.list()
        is_busy = bool(self._running) or any(job.state == "running" for job in jobs)
        return "command" if is_busy else "outside"

    async def _guard(self, work: Any) -> None:
        """Await a capture. A failure ends the recording, not the session."""
        try:
            await work
        except Exception as error:
            # Every error: otherwise a bug here would make every tool call fail.
            why = error.message if isinstance(error, PiError) else str(error)
            self._pi.log.warning("capture failed", exc_info=error)
            self.is_recording = False
            self._pi.warn(f"Rewind is off in this session: {why}")

    async def _report_once(self, history: History) -> None:
        """Warn once of an interrupted rewind, and of files that are not covered."""
        if self._has_reported:
            return
        self._has_reported = True
        if self.interrupted is not None:
            self._pi.warn("A rewind of this project was interrupted. Use /rewind recover.")
        coverage = await self.run(history.coverage)
        if coverage.refused or coverage.left_out or coverage.over_budget:
            from pi.batteries.rewind.preview import coverage_text  # deferred: seldom shown

            text = coverage_text(coverage)
            self._pi.warn(f"Rewind: {text[:1].lower()}{text[1:]}", kind="warning")

    # File layer and user commands -----------------------------------------------------------------

    async def layer(self, change: FileChange, write: FileWrite) -> FileWritten:
        """File layer: save the content before and after every write of a tool."""
        if not self.is_recording:
            return await write(change)
        await self.settled()
        # A write follows links, a removal does not.
        target = str(change.path) if change.after is None else os.path.realpath(change.path)
        paths: list[tuple[str, ...]] = []

        async def before() -> None:
            history = await self.opened()
            paths.append(await self.run(history.before_write, target))

        await self._guard(before())
        try:
            return await write(change)
        finally:
            # Also for a write that failed half-way, or whose caller was cancelled.
            if paths and self._history is not None:
                await self._guard(self.run(self._history.after_write, paths[0], "write"))

    async def user_command_start(self, event: UserCommandStartEvent, ctx: ExtensionContext) -> None:
        """Capture before a command of the user: ``!`` and ``$``."""
        await self.before_command(f"user {event.prefix}{event.text}", event.prefix + event.text)

    def user_command_end(self, event: UserCommandEndEvent, ctx: ExtensionContext) -> None:
        """Capture the changes of a command of the user."""
        self.after_command(f"user {event.prefix}{event.text}", "user")


class RecordingPolicy(Policy):
    """Starts a point at every prompt, and captures around calls that may change any file."""

    def __init__(self, recorder: Recorder, tier: Callable[[ToolCall], str]) -> None:
        self._recorder = recorder
        self._tier = tier

    async def before_tool(self, call: ToolCall) -> ToolCall:
        """Capture before calls of tier "exec". Other tools write through the file layer."""
        if self._tier(call) == "exec":
            await self._recorder.before_command(call.id, describe(call))
        return call

    async def after_tool(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """Start a capture, which runs during the next model request."""
        self._recorder.after_command(call.id)
        return result

    async def at_boundary(self, at: Boundary) -> Next:
        """Start a point at a prompt; at "settle", wait for the last captures."""
        if at.kind == "settle":
            self._recorder.settle()
            return replace(at.next, prepare=partial(self._finish, at.next.prepare))
        if at.kind != "prompt" or (entry := self._recorder.start_point()) is None:
            return at.next
        return replace(at.next, entries=(*at.next.entries, entry))

    async def _finish(self, others: Callable[[], Awaitable[None]] | None) -> None:
        """Wait for the last captures: changes after them are recorded as made outside of pi."""
        if others is not None:
            await others()
        await self._recorder.commands_captured()


def describe(call: ToolCall) -> str:
    """The command of a call, or the name of its tool; for the journal."""
    command = call.arguments.get("command")
    return command if isinstance(command, str) else call.name


def point_data(entry: Entry) -> dict[str, Any] | None:
    """The data of an entry of this battery; ``None`` for other entries."""
    if isinstance(entry, Custom) and entry.custom_type == ENTRY and isinstance(entry.data, dict):
        return entry.data
    return None


def _is_name(text: str) -> bool:
    """Whether a text from a session file is safe as the name of a journal."""
    return text.replace("-", "").replace("_", "").isalnum()

"""Runs the tool calls of one response: validation, approval, execution, results.

Calls run concurrently unless a tool is sequential. End events are emitted as calls end; results are
returned in the order of the calls. Every call gets exactly one result.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from functools import partial
from typing import Any, TypeAlias

from msgspec import UNSET, UnsetType

from pi.agent.events import (
    AgentEvent,
    Emit,
    ToolExecutionEnd,
    ToolExecutionStart,
    ToolExecutionUpdate,
    ToolOutput,
)
from pi.agent.nested_calls import NestedCallLog, current_log
from pi.agent.policy import Abort, Aborted, Next, Policy, StopRun, ToolRefused, overriding
from pi.agent.tools.effects import judging
from pi.agent.tools.results import to_tool_result
from pi.agent.tools.tool import AgentTool, ToolContext, ToolFailed, ToolResult
from pi.ai.builder import INVALID_ARGUMENTS
from pi.ai.messages import AssistantMessage, Json, ToolCall, ToolResultMessage
from pi.ai.models.model import Model
from pi.base.clock import Clock
from pi.base.records import Record, replace

log = logging.getLogger(__name__)


class EventQueue:
    """Emits the events of several tasks one at a time, in the order of ``put``."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._queue: asyncio.Queue[AgentEvent] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None

    def put(self, event: AgentEvent) -> None:
        """Queue ``event``."""
        self._queue.put_nowait(event)

    async def drain(self) -> None:
        """Wait until all queued events are delivered."""
        await self._queue.join()

    async def __aenter__(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._emit_all(), name="tool events")

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        assert self._task is not None
        try:
            if kind is None:
                await self.drain()
        finally:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def _emit_all(self) -> None:
        while True:
            event = await self._queue.get()
            try:
                await self._emit(event)
            finally:
                self._queue.task_done()


CLEAN_UP_SECONDS = 2.0
"""Grace period for a cancelled tool before it is abandoned."""

CUT_OFF = (
    "The answer was cut off at the output limit before this call was complete, so it was not run. "
    "Split the work into smaller steps."
)
ABORTED = "Operation aborted"

current_call: ContextVar[str] = ContextVar("current_call", default="")
"""The id of the call that is decided about or executed; empty elsewhere.

A dialog in a call is a wait for the user, which is no part of the time that a tool takes.
"""

EndSignal: TypeAlias = "asyncio.Future[None]"


class ApprovedCall(Record):
    """A validated call that no policy refused."""

    original: ToolCall
    """As the model made it; used in events."""
    call: ToolCall
    """As it runs: policies may have changed the arguments."""
    tool: AgentTool
    arguments: Any
    paths: tuple[str, ...]
    """Files it changes."""


class ToolBatch:
    """Runs the calls of one answer; ``cancel`` may be called at any time."""

    def __init__(
        self,
        answer: AssistantMessage,
        *,
        tools: Mapping[str, AgentTool],
        policies: Sequence[Policy],
        emit: Emit,
        clock: Clock,
        model: Model | None = None,
        abort: Callable[[], None] = lambda: None,
    ) -> None:
        """``abort`` ends the run that the calls belong to; tools may call it."""
        self._answer = answer
        self._tools = tools
        self._model = model
        self._abort_run = abort
        self._before_tool, self._after_tool = overriding(policies, "before_tool", "after_tool")
        self._events = EventQueue(emit)
        self._clock = clock
        self._abort = Abort(clock)
        self._running: dict[asyncio.Task[None], ToolCall] = {}
        self._all_done = asyncio.Event()
        self._results: dict[str, ToolResult] = {}
        self._started: dict[str, float] = {}
        """Start of the tools that have run, by call, in seconds of the monotonic clock."""
        self._durations: dict[str, int] = {}
        """Milliseconds of the tools that have ended."""
        self._nested: dict[str, NestedCallLog] = {}
        self._busy: dict[str, EndSignal] = {}
        self.next = Next()
        """Decision of the calls: stop, if a policy ended the run."""

    async def run(self) -> list[ToolResultMessage]:
        """Run all calls; returns results in the order of the calls."""
        calls = self._answer.tool_calls
        sequential = any(
            (tool := self._tools.get(call.name)) and tool.execution_mode == "sequential"
            for call in calls
        )
        async with self._events:
            try:
                approved = []
                for call in calls:
                    approved += await self._begin(call)
                    if sequential:
                        await self._run_all(approved)
                await self._run_all(approved)
            finally:
                self.cancel()  # no task outlives the batch
        return [self._message(call) for call in calls]

    def result(self, call: ToolCall) -> ToolResult:
        """The result of a call that has ended."""
        return self._results[call.id]

    @property
    def terminates(self) -> bool:
        """Whether every result has ``terminate`` set, which ends the run."""
        return bool(self._results) and all(result.terminate for result in self._results.values())

    def cancel(self) -> None:
        """Cancel running calls and start no more; every open call gets a result.

        A tool that cancels its own batch is not cancelled itself, but gets the same grace period.
        """
        self._abort.request()
        for task in self._running:
            if task is not asyncio.current_task():
                task.cancel()

    # Validation and approval ----------------------------------------------------------------------

    async def _begin(self, call: ToolCall) -> list[ApprovedCall]:
        """Emit the start of a call. Returns the approved call, or nothing if it already ended."""
        self._events.put(
            ToolExecutionStart(tool_call_id=call.id, tool_name=call.name, args=call.arguments)
        )
        await self._events.drain()
        try:
            return [await self._approve(call)]
        except ToolRefused as refusal:
            self._end(call, _error(refusal.message, terminate=refusal.terminate))
        except ToolFailed as error:
            self._end(call, _failure(error))
        except StopRun as stop:
            self._end(call, _error(stop.reason))
            self._stop(stop)
        except Aborted:
            self._end(call, _error(ABORTED))
        return []

    async def _approve(self, original: ToolCall) -> ApprovedCall:
        """Validate the call and pass it to the policies; raises if it must not run."""
        call = original
        if self._abort.requested:
            raise Aborted
        if self._answer.stop_reason == "length":
            raise ToolFailed(CUT_OFF)
        if reason := _invalid_arguments(call, self._answer):
            raise ToolFailed(reason)
        tool = self._tools.get(call.name)
        if tool is None:
            available = ", ".join(sorted(self._tools)) or "none"
            raise ToolFailed(f"Tool {call.name} not found. Available tools: {available}")
        arguments, paths = _validated(tool, call.arguments)
        current_call.set(call.id)
        with judging(tool):
            for policy in self._before_tool:
                changed = await self._ask_policy(policy, call)
                if changed is not call:
                    call = replace(call, arguments=changed.arguments)
                    arguments, paths = _validated(tool, call.arguments)
        return ApprovedCall(
            original=original, call=call, tool=tool, arguments=arguments, paths=paths
        )

    async def _ask_policy(self, policy: Policy, call: ToolCall) -> ToolCall:
        try:
            return await self._abort.wait(partial(policy.before_tool, call))
        except (ToolRefused, StopRun, Aborted):
            raise
        except Exception as error:
            log.exception("%s failed before %s", type(policy).__name__, call.name)
            raise ToolRefused(str(error) or repr(error)) from error

    # Execution ------------------------------------------------------------------------------------

    async def _run_all(self, approved: list[ApprovedCall]) -> None:
        """Run calls concurrently; each waits for earlier calls that change the same files."""
        for work in approved:
            if self._abort.requested:
                self._end(work.call, _error(ABORTED))
                continue
            task = asyncio.get_running_loop().create_task(
                self._execute(work, *self._reserve_paths(work)), name=f"tool {work.call.name}"
            )
            self._running[task] = work.call
            task.add_done_callback(self._finished)
        approved.clear()
        if self._running:
            self._all_done.clear()
            with suppress(Aborted):
                await self._abort.wait(self._all_done.wait, grace=CLEAN_UP_SECONDS)
        for task, call in self._running.items():
            log.warning("tool %s did not stop after cancellation; abandoned", call.name)
            task.cancel()
            self._end(call, _error(ABORTED))
        self._running.clear()

    def _finished(self, task: asyncio.Task[None]) -> None:
        call = self._running.pop(task, None)
        if call is not None and task.cancelled():  # cancelled before its first step
            self._end(call, _error(ABORTED))
        if not self._running:
            self._all_done.set()

    def _reserve_paths(self, work: ApprovedCall) -> tuple[list[EndSignal], EndSignal]:
        """Return the calls to wait for, and the future that marks the end of this one."""
        end: EndSignal = asyncio.get_running_loop().create_future()
        earlier_ends = [self._busy[path] for path in work.paths if path in self._busy]
        self._busy.update(dict.fromkeys(work.paths, end))
        return earlier_ends, end

    async def _execute(
        self, work: ApprovedCall, earlier_ends: list[EndSignal], end: EndSignal
    ) -> None:
        try:
            for earlier_end in earlier_ends:
                await asyncio.shield(earlier_end)
            result = await self._run_tool(work)
        except asyncio.CancelledError:
            result = _error(ABORTED)
        finally:
            end.set_result(None)
        self._end(work.call, await self._apply_after_tool(work.call, result))

    async def _run_tool(self, work: ApprovedCall) -> ToolResult:
        original = work.original
        current_call.set(original.id)
        self._nested[original.id] = nested = NestedCallLog(original.id, self._events.put)
        current_log.set(nested)
        ended = False

        def update(partial_result: ToolResult) -> None:
            # Late progress of a tool that has ended or was abandoned is ignored.
            if not ended and original.id not in self._results:
                self._events.put(
                    ToolExecutionUpdate(
                        tool_call_id=original.id,
                        tool_name=original.name,
                        args=original.arguments,
                        partial_result=ToolOutput.of(partial_result),
                    )
                )

        self._started[original.id] = started = self._clock.monotonic()
        try:
            ctx = ToolContext(original.id, update, model=self._model, abort=self._abort_run)
            return to_tool_result(await work.tool.run(work.arguments, ctx))
        except ToolFailed as error:
            return _failure(error)
        except (Exception, SystemExit) as error:  # a script run as a tool may exit
            log.info("tool %s failed", original.name, exc_info=True)
            return _error(str(error) or repr(error))
        finally:
            ended = True
            current_log.set(None)  # policies that see the result make no calls of the tool
            self._durations[original.id] = self._milliseconds_since(started)

    # Results --------------------------------------------------------------------------------------

    async def _apply_after_tool(self, call: ToolCall, result: ToolResult) -> ToolResult:
        for policy in self._after_tool:
            content = result.content
            try:
                result = await policy.after_tool(call, result)
                if result.content != content:  # for example redacted: the JSON value is not
                    result = replace(result, structured_content=UNSET)
            except StopRun as stop:
                self._stop(stop)
            except asyncio.CancelledError:
                log.info("%s was cancelled after %s", type(policy).__name__, call.name)
            except Exception:
                log.exception("%s failed after %s", type(policy).__name__, call.name)
        return result

    def _stop(self, stop: StopRun) -> None:
        self.next = stop.next
        self.cancel()

    def _end(self, call: ToolCall, result: ToolResult) -> None:
        if call.id in self._results:  # it was abandoned and ended later
            return
        self._results[call.id] = result
        self._events.put(
            ToolExecutionEnd(
                tool_call_id=call.id,
                tool_name=call.name,
                result=ToolOutput.of(result),
                is_error=result.is_error,
                duration_ms=self._duration(call),
            )
        )

    def _duration(self, call: ToolCall) -> int | UnsetType:
        """Return how long the tool ran; unset if it never ran."""
        if call.id not in self._durations and call.id in self._started:  # it was abandoned
            self._durations[call.id] = self._milliseconds_since(self._started[call.id])
        return self._durations.get(call.id, UNSET)

    def _milliseconds_since(self, started: float) -> int:
        return round((self._clock.monotonic() - started) * 1000)

    def _message(self, call: ToolCall) -> ToolResultMessage:
        result = self._results[call.id]
        nested = self._nested[call.id].calls() if call.id in self._nested else None
        return ToolResultMessage(
            tool_call_id=call.id,
            tool_name=call.name,
            content=result.content,
            details=result.details,
            usage=result.usage,
            is_error=result.is_error,
            useless=True if result.useless and not result.is_error else UNSET,
            duration_ms=self._duration(call),
            nested_calls=nested or UNSET,
            timestamp=self._clock.now_ms(),
        )


def _validated(tool: AgentTool, arguments: Json) -> tuple[Any, tuple[str, ...]]:
    """Return the decoded arguments and the files that the call changes."""
    try:
        if tool.prepare_arguments is not None:
            arguments = tool.prepare_arguments(arguments)
        decoded = tool.validate(arguments)
        return decoded, tool.touches(decoded) if tool.touches else ()
    except ToolFailed:
        raise
    except Exception as error:
        log.exception("the arguments of %s could not be validated", tool.name)
        raise ToolFailed(f"The arguments of {tool.name} could not be used: {error}") from error


def _invalid_arguments(call: ToolCall, answer: AssistantMessage) -> str:
    for diagnostic in answer.diagnostics or ():
        details = diagnostic.get("details") or {}
        if diagnostic.get("type") == INVALID_ARGUMENTS and details.get("toolCallId") == call.id:
            if reason := details.get("reason"):
                return f"The arguments of {call.name} are refused: {reason}."
            return f"The arguments of {call.name} are not valid JSON: {details.get('text', '')}"
    return ""


def _failure(error: ToolFailed) -> ToolResult:
    """Return the result of a failure; one with structured content needs no empty details."""
    structured = error.structured_content
    if structured is UNSET:
        return _error(error.message, details=error.details)
    return ToolResult.of(
        error.message, is_error=True, details=error.details, structured_content=structured
    )


def _error(text: str, *, details: Any = UNSET, terminate: bool = False) -> ToolResult:
    details_or_empty = {} if details is UNSET else details
    return ToolResult.of(text, is_error=True, terminate=terminate, details=details_or_empty)

"""Policies: six hooks that shape a run, how their decisions are joined, and the abort of a run.

Hooks decide; only ``Next.prepare`` may wait. The loop calls all policies in order. Every wait for a
policy ends when the run is aborted.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias, TypeVar

from pi.agent.tools.tool import ToolResult
from pi.ai.errors import ProviderError
from pi.ai.events import Delta
from pi.ai.messages import AssistantMessage, Message, Tool, ToolCall, ToolResultMessage
from pi.ai.models.model import Model
from pi.ai.models.thinking_levels import ThinkingLevel
from pi.ai.request import ToolChoice
from pi.base.clock import Clock
from pi.base.errors import PiError
from pi.base.records import Record, replace

log = logging.getLogger(__name__)

T = TypeVar("T")
Draft: TypeAlias = Any
"""A log entry other than a response or a tool result; its type is up to the conversation."""

Partial: TypeAlias = Callable[[], AssistantMessage]
"""Builds the partial response on demand."""


class Request(Record):
    """One request of the loop; policies may change it. It is not stored."""

    model: Model
    thinking: ThinkingLevel
    messages: Sequence[Message]
    tools: tuple[Tool, ...]
    tool_choice: ToolChoice | None = None
    purpose: str = "turn"


class Next(Record):
    """Decision at a boundary."""

    action: Literal["go_on", "again", "stop"] = "go_on"
    """``again`` beats ``go_on``, ``stop`` beats both."""
    entries: tuple[Draft, ...] = ()
    """Stored before the end of the turn or of the run is emitted."""
    new_run: bool = False
    """``again`` starts a new run: the current one ends first."""
    prepare: Callable[[], Awaitable[None]] | None = None
    """Awaited before continuing or before the agent is idle; an abort cancels it."""
    reason: str = ""
    exit_code: int | None = None

    @property
    def claimed(self) -> bool:
        """Whether a policy has already decided."""
        return self.action != "go_on"

    @property
    def opens_run(self) -> bool:
        """Whether a new run follows."""
        return self.action == "again" and self.new_run


class Boundary(Record):
    """A point where policies decide what comes next."""

    kind: Literal["prompt", "turn", "settle"]
    outcome: Literal["completed", "aborted", "error"] = "completed"
    error: ProviderError | None = None
    answer: AssistantMessage | None = None
    results: tuple[ToolResultMessage, ...] = ()
    next: Next = Next()


class Policy:
    """Six hooks, all optional. Returning the argument means 'no opinion'."""

    async def before_request(self, request: Request) -> Request:
        """Change one request, without storing it; may raise ``StopRun``."""
        return request

    def on_delta(self, delta: Delta, answer: Partial) -> None:
        """Called for every token; raise ``Interrupt`` to cut the stream. Must be cheap."""

    async def after_answer(self, answer: AssistantMessage) -> AssistantMessage:
        """Change a response before it is stored, or raise ``Interrupt`` to reject all of it."""
        return answer

    async def before_tool(self, call: ToolCall) -> ToolCall:
        """Change a call's arguments, or raise ``ToolRefused``."""
        return call

    async def after_tool(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """Change the result of a tool."""
        return result

    async def at_boundary(self, at: Boundary) -> Next:
        """Decide what comes next."""
        return at.next


def overriding(policies: Sequence[Policy], *hooks: str) -> Iterator[list[Policy]]:
    """Yield for each hook the policies that override it; the others have no opinion."""
    for hook in hooks:
        default = getattr(Policy, hook)
        yield [policy for policy in policies if getattr(type(policy), hook) is not default]


class ToolRefused(PiError):
    """The call must not run; ``message`` is sent to the model."""

    def __init__(self, message: str, *, terminate: bool = False) -> None:
        super().__init__(message)
        self.terminate = terminate


class Interrupt(Exception):
    """Cut the response being streamed and send a new request in the same run.

    ``keep`` stores the partial response as a normal one; otherwise requests leave it out. ``by`` is
    recorded in the log; the default is the class name of the policy.
    """

    def __init__(
        self,
        reason: str,
        *,
        keep: bool = False,
        entries: tuple[Draft, ...] = (),
        by: str = "",
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.by = by
        self.keep = keep
        self.entries = entries


class StopRun(Exception):
    """End the run cleanly, from any hook."""

    def __init__(self, reason: str, *, exit_code: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.exit_code = exit_code

    @property
    def next(self) -> Next:
        """The equivalent decision."""
        return Next(action="stop", reason=self.reason, exit_code=self.exit_code)


class Aborted(Exception):
    """The wait was cancelled because the run is being aborted."""


class Abort:
    """Abort signal of one run."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.requested = False
        """Whether an abort was requested."""
        self._callbacks: list[Callable[[], object]] = []

    def request(self) -> None:
        """Request the abort: current waits are cancelled, later waits raise at once. Idempotent.

        Never raises in the caller: a hook that aborts its own run is not cancelled itself.
        """
        if not self.requested:
            self.requested = True
            for stop in tuple(self._callbacks):
                stop()

    @contextmanager
    def on_abort(self, stop: Callable[[], object]) -> Iterator[None]:
        """Call ``stop`` on abort; immediately if the abort was already requested."""
        self._callbacks.append(stop)
        try:
            if self.requested:
                stop()
            yield
        finally:
            self._callbacks.remove(stop)

    async def wait(self, work: Callable[[], Awaitable[T]], *, grace: float = 0) -> T:
        """Return the result of ``work``; raises ``Aborted`` ``grace`` seconds after an abort."""
        if self.requested and not grace:
            raise Aborted
        abortable = _AbortableWait(self._clock, grace)
        with self.on_abort(abortable.begin):
            return await abortable.wait(work)


class _AbortableWait:
    """Cancels one wait, immediately or after a grace period."""

    def __init__(self, clock: Clock, grace: float) -> None:
        waiter = asyncio.current_task()
        assert waiter is not None
        self._waiter = waiter
        self._clock = clock
        self._grace = grace
        self._deadline: asyncio.Task[None] | None = None
        self._cancelled = False

    def begin(self) -> None:
        if self._grace:
            self._deadline = asyncio.get_running_loop().create_task(self._end_later())
        elif asyncio.current_task() is not self._waiter:
            self._end()

    async def wait(self, work: Callable[[], Awaitable[T]]) -> T:
        before = self._waiter.cancelling()
        try:
            return await work()
        except asyncio.CancelledError as cancelled:
            if self._waiter.cancelling() > before + self._cancelled:
                raise  # the whole run is cancelled, not only this wait
            if self._cancelled:
                raise Aborted from None
            raise RuntimeError("The awaited work was cancelled.") from cancelled
        finally:
            if self._deadline is not None:
                self._deadline.cancel()
            if self._cancelled:
                self._waiter.uncancel()

    async def _end_later(self) -> None:
        await self._clock.sleep(self._grace)
        self._end()

    def _end(self) -> None:
        self._cancelled = True
        self._waiter.cancel()


DECIDING_SECONDS = 2.0
"""Time limit for policies to decide after an abort."""

_STRENGTH = {"go_on": 0, "again": 1, "stop": 2}


async def decide(policies: Sequence[Policy], boundary: Boundary, abort: Abort) -> Next:
    """Return the joint decision of the policies, called in order.

    Each policy gets the decision so far. A weaker action never replaces a stronger one.
    """

    async def ask_all() -> None:
        nonlocal boundary
        (deciding,) = overriding(policies, "at_boundary")
        for policy in deciding:
            boundary = replace(
                boundary, next=_merged(boundary.next, await _opinion(policy, boundary))
            )

    try:
        await abort.wait(ask_all, grace=DECIDING_SECONDS)
    except Aborted:
        log.warning("deciding what comes next took too long after an abort")
    return boundary.next


async def prepare(decision: Next, abort: Abort) -> Next:
    """Await ``decision.prepare``; returns ``decision``, or a stop if that raised ``StopRun``."""
    if decision.prepare is not None:
        try:
            await abort.wait(decision.prepare)
        except StopRun as stop:
            return stop.next
        except Aborted:
            pass  # the caller checks the abort itself
        except Exception:
            log.exception("preparing what comes next failed")
    return decision


async def _opinion(policy: Policy, boundary: Boundary) -> Next:
    try:
        return await policy.at_boundary(boundary)
    except StopRun as stop:
        return stop.next
    except Exception:
        log.exception("%s failed at the %s boundary", type(policy).__name__, boundary.kind)
        return boundary.next


def _merged(current: Next, decision: Next) -> Next:
    """Return the stronger decision; keep the draft entries of both."""
    entries, before = decision.entries, current.entries
    if entries[: len(before)] != before:
        entries = before + entries
    weaker = _STRENGTH[decision.action] < _STRENGTH[current.action]
    return replace(current if weaker else decision, entries=entries)

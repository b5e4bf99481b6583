"""The seam: whatever shapes a run is a policy with at most six hooks.

Hooks decide; only ``Next.prepare`` waits. The loop asks every policy in order and names none.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal, TypeAlias

from pi.agent.tools.tool import ToolResult
from pi.ai.errors import ProviderError
from pi.ai.events import Delta
from pi.ai.messages import AssistantMessage, Message, Tool, ToolCall, ToolResultMessage
from pi.ai.models.model import Model, ThinkingLevel
from pi.ai.request import ToolChoice
from pi.base.errors import PiError
from pi.base.records import Record

Draft: TypeAlias = Any
"""Something for the log other than an answer or a result; what, the conversation knows."""

Partial: TypeAlias = Callable[[], AssistantMessage]
"""Builds the answer so far when it is called."""


class Request(Record):
    """One request of the loop, as policies may change it; nothing of it is stored."""

    model: Model
    thinking: ThinkingLevel
    messages: Sequence[Message]
    tools: tuple[Tool, ...]
    tool_choice: ToolChoice | None = None
    purpose: str = "turn"


class Next(Record):
    """What happens after a boundary."""

    action: Literal["go_on", "again", "stop"] = "go_on"
    """``again`` beats ``go_on``, ``stop`` beats both."""
    entries: tuple[Draft, ...] = ()
    """Goes into the log before the boundary is announced."""
    new_run: bool = False
    """``again`` as a run of its own: this one is closed first."""
    prepare: Callable[[], Awaitable[None]] | None = None
    """Awaited before going on, or before the agent is idle; an abort cancels it."""
    reason: str = ""
    exit_code: int | None = None

    @property
    def claimed(self) -> bool:
        """Whether somebody has decided already."""
        return self.action != "go_on"

    @property
    def opens_run(self) -> bool:
        """Whether a run of its own comes next."""
        return self.action == "again" and self.new_run


class Boundary(Record):
    """Where a run may take a turn."""

    kind: Literal["prompt", "turn", "settle"]
    outcome: Literal["completed", "aborted", "error"] = "completed"
    error: ProviderError | None = None
    answer: AssistantMessage | None = None
    results: tuple[ToolResultMessage, ...] = ()
    next: Next = Next()


class Policy:
    """Six hooks, all optional. Returning the argument means 'no opinion'."""

    async def before_request(self, request: Request) -> Request:
        """Change one request; ephemeral, and it may raise ``StopRun``."""
        return request

    def on_delta(self, delta: Delta, answer: Partial) -> None:
        """See every token; raise ``Interrupt`` to cut the stream. Stay cheap."""

    async def after_answer(self, answer: AssistantMessage) -> AssistantMessage:
        """Change an answer before it is stored."""
        return answer

    async def before_tool(self, call: ToolCall) -> ToolCall:
        """Change a call's arguments, or raise ``ToolRefused``."""
        return call

    async def after_tool(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """Change what a tool gave."""
        return result

    async def at_boundary(self, at: Boundary) -> Next:
        """Decide what comes next."""
        return at.next


class ToolRefused(PiError):
    """A call that must not run; the model is told ``message``."""

    def __init__(self, message: str, *, terminate: bool = False) -> None:
        super().__init__(message)
        self.terminate = terminate


class Interrupt(Exception):
    """Cut the answer that is being streamed and ask again in the same run.

    ``keep`` stores what had arrived as a normal answer; otherwise it is left out of requests.
    ``by`` is who the log says has cut it: the policy's class, if nothing else is said.
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
        """The decision that it is."""
        return Next(action="stop", reason=self.reason, exit_code=self.exit_code)

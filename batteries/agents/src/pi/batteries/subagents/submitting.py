"""The child's side of a task: the tool ``yield``, and the policy that enforces its use."""

from __future__ import annotations

import json
from typing import Any

from pi.batteries.subagents.nodes import RunEnd, State
from pi.batteries.subagents.requests import SchemaMode, TaskItem
from pi.extension import (
    AgentTool,
    Boundary,
    CustomMessageEntry,
    Json,
    Next,
    Policy,
    Record,
    Request,
    StopRun,
    ToolContext,
    ToolFailed,
    ToolResult,
    make_tool,
    replace,
)

YIELD = "yield"
REMINDER = "task_reminder"
"""Custom type of the messages that remind an agent of its result."""
MAX_REMINDERS = 3
MAX_INVALID = 3
HARD = 1.5
"""From this multiple of the soft budget on, requests accept only a call of ``yield``."""
GRACE = 3
"""Further requests after that limit, until the run is stopped."""

DESCRIPTION = """\
Return the result of your task. Call it exactly once, as your last action: your caller sees
nothing else of what you did.
Pass `data` with the result{form}, or `error` with the reason why the task cannot be done."""
REMINDERS = (
    "You have stopped without returning a result. Call the tool yield now: data with the result,"
    " or error with the reason why there is none. Text that is not passed to yield is lost.",
    "There is still no result. Your caller is waiting. Call yield with data or error.",
    "Last reminder: this request only accepts a call of yield. Return what you have.",
)
WRAP_UP = (
    "You have used {count} requests, which is the budget of this task. Finish what you are doing,"
    " leave the rest, and call yield with what you have and what is missing."
)


class Submission(Record):
    """The result or error that an agent has returned."""

    data: Any = None
    error: str = ""
    mismatch: str = ""
    """Why ``data`` does not match the schema."""

    @property
    def is_result(self) -> bool:
        """Whether the task was done."""
        return not self.error


class TaskSubmission:
    """The result of one prompt of an agent: requested, checked and kept."""

    def __init__(self, schema: Json | None, mode: SchemaMode) -> None:
        self._mode = mode
        self._expected = None if schema is None else _property(schema)
        self._is_structured = schema is not None and schema.get("type") in ("object", "array")
        self._checker = self._make_tool(strict=True)
        self.tool: AgentTool = self._make_tool(strict=False)
        self.result: Submission | None = None
        self._invalid = 0
        self.must_submit = False
        """Whether the next request accepts only a call of ``yield``."""

    def begin(self) -> None:
        """Forget the result of the last prompt."""
        self.result, self._invalid, self.must_submit = None, 0, False

    def _make_tool(self, *, strict: bool) -> AgentTool:
        fields: Json = {
            "data": self._expected or {"description": "The result: a text or any JSON value"},
            "error": {"type": "string", "description": "Why the task cannot be done"},
        }
        form = ", which must match its schema" if self._expected else ""
        tool = make_tool(
            name=YIELD,
            label=YIELD,
            description=DESCRIPTION.format(form=form),
            params={"type": "object", "properties": fields},
            run=self._submit,
            approval="read",
        )
        # The tool accepts all arguments: ``_submit`` counts mismatches and may accept them.
        return tool if strict else replace(tool, validate=lambda arguments: arguments or {})

    async def _submit(self, params: Json, ctx: ToolContext) -> ToolResult:
        if self.result is not None:
            return ToolResult.of("The result was returned already.", terminate=True)
        error = params.get("error")
        if error not in (None, "", False):
            self.result = Submission(error=str(error), data=params.get("data"))
            details = {"error": str(error)}
            return ToolResult.of("The error was returned.", details=details, terminate=True)
        if params.get("data") is None:
            raise ToolFailed("Pass data with the result, or error with the reason.")
        mismatch, data = self._checked(params["data"])
        if mismatch:
            return self._refused(mismatch, data)
        self.result = Submission(data=data)
        return ToolResult.of("The result was returned.", details={"data": data}, terminate=True)

    async def submit_text(self, text: str) -> str:
        """Use a text as the result. Returns an error message; empty if it was accepted."""
        data: Any = _unfenced(text) if self._is_structured else text
        mismatch, data = self._checked(data)
        if not mismatch:
            self.result = Submission(data=data)
            return ""
        try:
            self._refused(mismatch, data)
        except ToolFailed as error:
            return error.message
        return ""

    def _checked(self, data: Any) -> tuple[str, Any]:
        if self._expected is None:
            return "", data
        if self._is_structured and isinstance(data, str):  # some models send JSON as text
            try:
                data = json.loads(data)
            except ValueError:
                return "data is a text; the schema expects JSON.", data
        try:
            return "", self._checker.validate({"data": data})["data"]
        except ToolFailed as error:
            return error.message, data

    def _refused(self, mismatch: str, data: Any) -> ToolResult:
        self._invalid += 1
        if self._invalid < MAX_INVALID:
            raise ToolFailed(f"{mismatch}\nCorrect the result and call yield again.")
        if self._mode == "permissive":
            self.result = Submission(data=data, mismatch=mismatch)
            return ToolResult.of("The result was returned as it is.", terminate=True)
        reason = f"its result did not match the schema {MAX_INVALID} times: {mismatch}"
        self.result = Submission(error=reason, data=data, mismatch=mismatch)
        return ToolResult.of("The result was refused.", terminate=True)


class SubmitPolicy(Policy):
    """Reminds an agent of its result, and ends its run at its limits."""

    def __init__(
        self, submission: TaskSubmission, *, soft_budget: int = 0, max_turns: int | None = None
    ) -> None:
        self._submission = submission
        self._soft = soft_budget
        self._last = max_turns or (int(soft_budget * HARD) if soft_budget > 0 else None)
        self.requests = 0
        self._reminders = 0

    async def before_request(self, request: Request) -> Request:
        """Count the request; force the call of ``yield`` if it is due."""
        self.requests += 1
        if self._last is not None and self.requests > self._last + GRACE:
            raise StopRun(f"it used {self.requests - 1} requests and returned no result")
        at_limit = self._last is not None and self.requests >= self._last
        if not (self._submission.must_submit or at_limit):
            return request
        # Several providers refuse a forced call while the model thinks.
        return replace(request, tool_choice=YIELD, thinking="off")

    async def at_boundary(self, boundary: Boundary) -> Next:
        """Stop the run once there is a result; remind the agent if it ends without one."""
        if boundary.kind == "prompt":
            self.requests = self._reminders = 0
            self._submission.begin()
        if boundary.kind == "prompt" or boundary.outcome != "completed" or boundary.next.claimed:
            return boundary.next
        return self._at_turn(boundary) if boundary.kind == "turn" else self._at_end(boundary)

    def _at_turn(self, boundary: Boundary) -> Next:
        if self._submission.result is not None:
            return replace(boundary.next, action="stop")
        if self.requests == self._soft and boundary.results:
            return _with_message(boundary.next, WRAP_UP.format(count=self.requests))
        return boundary.next

    def _at_end(self, boundary: Boundary) -> Next:
        if self._submission.result is not None or self._reminders >= MAX_REMINDERS:
            return boundary.next
        text = REMINDERS[self._reminders]
        self._reminders += 1
        self._submission.must_submit = self._reminders == MAX_REMINDERS
        return replace(_with_message(boundary.next, text), action="again")


def _with_message(decision: Next, text: str) -> Next:
    entry = CustomMessageEntry(custom_type=REMINDER, content=text, display=True)
    return replace(decision, entries=(*decision.entries, entry))


def _unfenced(text: str) -> str:
    """A text without the code fence around it, which models often add to JSON."""
    lines = text.strip().split("\n")
    fenced = len(lines) > 2 and lines[0].startswith("```") and lines[-1].startswith("```")
    return "\n".join(lines[1:-1]) if fenced else text


def _property(schema: Json) -> Json:
    """The schema for use as a property, without ``$schema``."""
    return {name: value for name, value in schema.items() if name != "$schema"}


# Ending -------------------------------------------------------------------------------------------


class Ending(Record):
    """The final state of an agent, with its reason and output."""

    state: State
    reason: str = ""
    output: Any = None


def ending_of(item: TaskItem, submitted: Submission | None, end: RunEnd) -> Ending:
    """The ending of a run: from the submission or, without one, from the last answer."""
    if submitted is not None:
        if submitted.is_result:
            note = f" (it does not match the schema: {submitted.mismatch})"
            return Ending(
                state="completed",
                output=submitted.data,
                reason=note.strip() if submitted.mismatch else "",
            )
        return Ending(state="failed", reason=submitted.error, output=submitted.data)
    if end.failure:
        return Ending(state="failed", reason=end.failure, output=end.text or None)
    if not end.text.strip():
        return Ending(state="failed", reason="it ended without a result")
    if item.output_schema is not None and item.schema_mode == "strict":
        return Ending(
            state="failed",
            reason="it returned a text instead of the result that the schema asks for",
            output=end.text,
        )
    return Ending(
        state="completed", output=end.text, reason="it did not call yield; this is its last message"
    )

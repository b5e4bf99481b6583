"""Background jobs in a session (setting ``async.enabled``).

A job is a call of ``bash`` that continues after the model has received a first result. Wraps of
``bash`` apply to it as to any other call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pi.extension import (
    Boundary,
    CommandContext,
    ExtensionAPI,
    ExtensionContext,
    JobInfo,
    JobOutput,
    Json,
    Meta,
    Next,
    PiError,
    Policy,
    Record,
    SessionStartEvent,
    Text,
    ToolContext,
    ToolFailed,
    ToolResult,
    make_tool,
    replace,
)

REPORT = "bash_job"
"""Custom type of messages about jobs that have ended."""
OUTCOMES = {"completed": "has succeeded", "failed": "has failed", "cancelled": "was cancelled"}
WAITING_MODES = ("print", "json")
"""Modes that exit after the last answer: they wait for jobs first."""
MAX_WAIT_SECONDS = 3600.0

SETTINGS: tuple[tuple[str, type[Any], Any, str], ...] = (
    ("async.enabled", bool, False, "let the model run commands in the background"),
    ("bash.autoBackground.enabled", bool, False, "move commands that take long to the background"),
    ("bash.autoBackground.thresholdMs", int, 60_000, "milliseconds before a command is moved"),
)
ASYNC: Json = {
    "type": "boolean",
    "description": "Return at once; the command goes on as a background job",
}
ABOUT_JOBS = (
    " With async the command becomes a background job: you are notified when it ends, and the job"
    " tool shows its output. Use it for servers and long builds."
)
DESCRIPTION = """\
Manage background jobs, which are bash commands started with async or moved because they take long.
- list: all jobs and their states
- read: the output of a job so far
- wait: wait until a job ends, at most `timeout` seconds, and get its output
- cancel: end a job and its child processes
You are notified when a job ends, so do not poll."""


class JobParams(Record):
    """Arguments of a call of ``job``."""

    action: Literal["list", "read", "wait", "cancel"]
    job: Annotated[str, Meta(description="The job, such as bash-1; not for list")] = ""
    timeout: Annotated[
        float, Meta(gt=0, le=MAX_WAIT_SECONDS, description="Seconds to wait; 60 if left out")
    ] = 60.0


def extension(pi: ExtensionAPI) -> None:
    """Register the tool, the command and the wrap around ``bash``."""
    pi.settings.declare_all(SETTINGS)
    jobs = BashJobs(pi)
    pi.add_view("tool", "job", "pi.batteries.jobs.views:job")
    pi.add_view("message", REPORT, "pi.batteries.jobs.views:report")
    pi.register_command("jobs", jobs.command, description="show and end background jobs")
    pi.on("session_start", jobs.session_start)


def with_async(schema: Json) -> Json:
    """The parameters of ``bash`` with ``async``."""
    return {**schema, "properties": {**schema.get("properties", {}), "async": ASYNC}}


class RunningCall:
    """A call of ``bash`` that may outlive its turn."""

    def __init__(self, ctx: ToolContext) -> None:
        self._shown: ToolResult | None = None
        self._failure: ToolFailed | None = None
        self._forward: Any = ctx.update
        self.result: ToolResult | None = None

    def update(self, result: ToolResult) -> None:
        """Show output while the call is in the foreground, and keep the last state."""
        self._shown = result
        if self._forward is not None:
            self._forward(result)

    def detach(self) -> None:
        """Stop showing output: the call has become a job, and its output is only kept."""
        self._forward = None

    async def follow(self, work: Any) -> bool:
        """Wait for the call; returns whether it succeeded."""
        try:
            self.result = await work
        except ToolFailed as error:
            self._failure = error
            return False
        return not self.result.is_error

    def finish(self) -> ToolResult:
        """The result of a call that ended in the foreground. Raises ``ToolFailed``."""
        if self._failure is not None:
            raise self._failure
        assert self.result is not None  # the call has ended and did not fail
        return self.result

    def output(self) -> JobOutput:
        """The output so far."""
        if self._failure is not None:
            details = self._failure.details
            return _output(self._failure.message, details)
        result = self.result or self._shown
        return JobOutput(text="") if result is None else _output(_text(result), result.details)


class BashJobs:
    """The background jobs of one session."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi
        # With ``--tools job`` alone the model can list jobs, but not start them.
        self._tool = pi.add_tool(self._make_tool(), exposure="on_demand")
        self._reported: dict[str, asyncio.Event] = {}
        """By job; set once its report is queued for the model, or none is needed."""

    async def run(self, params: Json, ctx: ToolContext, inner: Any) -> ToolResult:
        """Wrap ``bash``: run a call, and turn it into a job (``async``, or after the threshold)."""
        arguments = {name: value for name, value in params.items() if name != "async"}
        at_once = params.get("async") is True
        wait = 0.0 if at_once else self._threshold()
        if wait is None or arguments.get("pty") is True:
            return await inner(arguments, ctx)  # type: ignore[no-any-return]
        call = RunningCall(ctx)
        call_context = replace(ctx, update=call.update, background=at_once)
        work = asyncio.create_task(call.follow(inner(arguments, call_context)))
        try:
            await asyncio.wait({work}, timeout=wait)
        except asyncio.CancelledError:
            work.cancel()
            await asyncio.wait({work})
            return call.finish()
        if work.done():
            work.result()
            return call.finish()
        call.detach()
        job = self._pi.context.jobs.add(
            str(arguments.get("command", "")), work, call.output, prefix="bash"
        )
        self._follow(job)
        output = call.output().text
        note = f"The command runs on as job {job.id}. You will be notified when it ends."
        return ToolResult.of(
            f"{output}\n\n{note}" if output else note, details={"jobId": job.id, "state": job.state}
        )

    def _threshold(self) -> float | None:
        """Seconds after which a command becomes a job; ``None`` for never."""
        if not self._pi.settings.get("bash.autoBackground.enabled"):
            return None
        return max(0, int(self._pi.settings.get("bash.autoBackground.thresholdMs"))) / 1000

    # Reports of ended jobs ------------------------------------------------------------------------

    @property
    def runs_once(self) -> bool:
        """Whether pi runs in a mode that exits after the last answer."""
        return self._pi.context.mode in WAITING_MODES

    @property
    def running(self) -> Sequence[JobInfo]:
        """The jobs that have not ended."""
        return [job for job in self._pi.context.jobs.list() if job.state == "running"]

    def session_start(self, event: SessionStartEvent, ctx: ExtensionContext) -> None:
        """Activate the tools if the settings say so; watch the jobs that survived a reload."""
        if self._pi.settings.get("async.enabled"):
            self._enable()
        for job in self.running:
            self._follow(job)
        self._show_count()

    async def wait_for_one(self) -> None:
        """Wait until a running job has ended and its report is queued."""
        events = [self._reported[job.id] for job in self.running if job.id in self._reported]
        waiting = [asyncio.create_task(event.wait()) for event in events]
        if not waiting:
            return
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waiting:
                task.cancel()

    def _follow(self, job: JobInfo) -> None:
        self._reported[job.id] = asyncio.Event()
        self._pi.scope.spawn(self._report_end(job), name=f"end of {job.id}")
        self._show_count()

    async def _report_end(self, job: JobInfo) -> None:
        ended = await self._pi.context.jobs.wait(job.id)
        self._show_count()
        try:
            if ended.state != "cancelled":  # the model or the user has cancelled it
                await self._report(job, ended)
        finally:
            self._reported[job.id].set()

    async def _report(self, job: JobInfo, ended: JobInfo) -> None:
        output = self._pi.context.jobs.read(job.id).text
        headline = f"The job {job.id} {OUTCOMES[ended.state]}: {job.command}"
        await self._pi.send_message(
            {
                "custom_type": REPORT,
                "content": f"{headline}\n\n{output}" if output else headline,
                "details": {"jobId": job.id, "state": ended.state},
            },
            deliver_as="steer",
            trigger_turn=not self.runs_once,
        )

    def _show_count(self) -> None:
        count = len(self.running)
        noun = "job" if count == 1 else "jobs"
        self._pi.context.ui.set_status("jobs", f"{count} {noun}" if count else None)

    # The tool -------------------------------------------------------------------------------------

    def _enable(self) -> None:
        self._tool.remove()
        self._tool = self._pi.add_tool(self._make_tool(), exposure="active")
        self._pi.wrap_tool(
            "bash",
            self.run,
            params=with_async,
            description=lambda own: own + ABOUT_JOBS,
            at="first",
        )
        self._pi.add_policy(WaitForJobs(self))

    def _make_tool(self) -> Any:
        return make_tool(
            name="job", label="job", description=DESCRIPTION, params=JobParams, run=self._use
        )

    async def _use(self, params: JobParams, ctx: ToolContext) -> ToolResult:
        jobs = self._pi.context.jobs
        if params.action == "list":
            listed = jobs.list()
            text = "\n".join(f"{job.id} [{job.state}] {job.command}" for job in listed)
            return ToolResult.of(text or "There are no jobs.", details={"jobs": _rows(listed)})
        try:
            jobs.read(params.job)
        except PiError as error:
            raise ToolFailed(error.explain()) from error
        if params.action == "cancel":
            was_running = jobs.cancel(params.job)
            job = await jobs.wait(params.job, timeout=10)
            outcome = "Cancelled" if was_running else f"It had ended already ({job.state})"
            return ToolResult.of(f"{outcome}: {job.id}.", details=_details(job))
        seconds = params.timeout if params.action == "wait" else 0.0
        job = await jobs.wait(params.job, timeout=seconds)
        output = jobs.read(params.job)
        head = f"{job.id} [{job.state}] {job.command}"
        details = _details(job)
        if output.full_output_path:
            details["fullOutputPath"] = output.full_output_path
        text = f"{head}\n\n{output.text or '(no output so far)'}"
        is_uneventful = job.state == "running" and not output.text
        return ToolResult.of(text, details=details, useless=is_uneventful)

    # The command ----------------------------------------------------------------------------------

    async def command(self, arguments: str, ctx: CommandContext) -> None:
        """``/jobs``: a screen with all jobs; a text list without a terminal."""
        if arguments:
            raise PiError("/jobs takes no arguments.", hint="Its list shows and ends each job.")
        listed = ctx.jobs.list()
        if ctx.mode != "tui":
            rows = [f"{job.id} [{job.state}] {job.command}" for job in listed]
            ctx.write("\n".join(rows or ["There are no jobs."]) + "\n")
            return
        if not listed:
            hint = "" if self._pi.settings.get("async.enabled") else " Turn on async.enabled."
            ctx.ui.notify(f"There are no jobs.{hint}", "info")
            return
        from pi.batteries.jobs.views import JobsScreen  # deferred: only drawn here

        def make(tui: Any, theme: Any, keys: Any, done: Any) -> JobsScreen:
            screen = JobsScreen(ctx.jobs, tui, theme, done)
            timer = self._pi.scope.every(0.5, tui.request_render)
            screen.on_close(timer.remove)
            return screen

        await ctx.ui.custom(make)


class WaitForJobs(Policy):
    """Keeps modes that exit after the last answer running until their jobs have ended."""

    def __init__(self, jobs: BashJobs) -> None:
        self._jobs = jobs

    async def at_boundary(self, at: Boundary) -> Next:
        """At the end of a run, wait for a job and continue with its report."""
        waits = self._jobs.runs_once and at.kind == "settle"
        if not waits or at.outcome != "completed" or at.next.claimed or not self._jobs.running:
            return at.next
        return replace(at.next, action="again", prepare=self._jobs.wait_for_one)


def _text(result: ToolResult) -> str:
    return "".join(block.text for block in result.content if isinstance(block, Text))


def _output(text: str, details: Any) -> JobOutput:
    fields = details if isinstance(details, dict) else {}
    path = fields.get("fullOutputPath")
    return JobOutput(text=text, truncated="truncation" in fields, full_output_path=path)


def _details(job: JobInfo) -> Json:
    return {"jobId": job.id, "state": job.state, "command": job.command}


def _rows(jobs: Sequence[JobInfo]) -> list[Json]:
    return [_details(job) for job in jobs]

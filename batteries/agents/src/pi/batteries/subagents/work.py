"""Runs sub-agents: start, wait, continue, cancel, clean up.

Every agent that was started reaches a final state, also after errors and cancellation.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence

from pi.batteries.subagents.definitions import AgentDefinition
from pi.batteries.subagents.isolation import IsolatedCopies, is_planning
from pi.batteries.subagents.launching import (
    TASK,
    AgentCatalog,
    choose_model,
    max_depth,
    may_spawn,
    system_text,
    tools_of,
)
from pi.batteries.subagents.nodes import (
    ENTRY,
    AgentNode,
    AgentTree,
    RunEnd,
    Runner,
)
from pi.batteries.subagents.requests import TaskItem
from pi.batteries.subagents.results import (
    AgentReport,
    OutputLimits,
    limited,
    output_text,
    report_text,
)
from pi.batteries.subagents.runners import (
    COMMAND,
    NestedRunner,
    ProcessRunner,
    RunnerSpec,
)
from pi.batteries.subagents.submitting import (
    MAX_REMINDERS,
    REMINDERS,
    Ending,
    SubmitPolicy,
    TaskSubmission,
    ending_of,
)
from pi.coding.files.working_copies import WorkingCopy
from pi.extension import (
    AgentTool,
    ExtensionAPI,
    Model,
    PiError,
    Record,
    StaleSession,
    TaskOptions,
    ToolFailed,
    one_line,
    replace,
)

UPDATE_SECONDS = 0.1
MAX_PARKED = 32
"""Maximum of idle sessions that are kept open for further messages; the oldest are closed."""
JSON_RESULT = """\
End with the result as your last message and nothing else. It must be one JSON value that matches
this schema:

{schema}"""


class Job(Record, eq=False):
    """The task of an agent, and what is needed to run it."""

    item: TaskItem
    definition: AgentDefinition
    caller: AgentNode | None
    submission: TaskSubmission
    policy: SubmitPolicy
    model: Model | None


class AgentWork:
    """Starts, waits for, continues and cancels the agents of one session."""

    task_tool: Callable[[AgentNode, AgentDefinition], AgentTool]
    """Creates the ``task`` tool of an agent that may start sub-agents; set by the adapter."""

    def __init__(
        self, pi: ExtensionAPI, tree: AgentTree, catalog: AgentCatalog, copies: IsolatedCopies
    ) -> None:
        self._pi = pi
        self.tree = tree
        self.catalog = catalog
        self._copies = copies
        self._jobs: dict[str, Job] = {}
        self._parked: list[AgentNode] = []
        self._pending: dict[str, list[str]] = {}
        """Messages to agents that are not running yet."""

    # Results --------------------------------------------------------------------------------------

    def report(self, node: AgentNode) -> str:
        """The result of an agent, as text for the model."""
        return report_text(
            AgentReport(
                id=node.id,
                agent=node.agent,
                state=node.state,
                output=node.output,
                reason=node.reason,
                notes=tuple(node.notes),
            )
        )

    # Starting -------------------------------------------------------------------------------------

    def start(self, items: Sequence[TaskItem], caller: AgentNode | None) -> list[AgentNode]:
        """Start agents. If one cannot start, raises ``ToolFailed`` before any is started."""
        depth = (self._pi.context.task.depth if caller is None else caller.depth) + 1
        if depth > (limit := max_depth(self._pi)):
            raise ToolFailed(f"Tasks may be nested {limit} deep (task.maxRecursionDepth).")
        if caller is not None and (caller.is_cancelled or not caller.is_active):
            raise ToolFailed("You were cancelled.")
        jobs = [self._job(item, caller) for item in items]
        nodes = [self._add(job, depth) for job in jobs]
        for node in nodes:
            self._launch(node, self._jobs[node.id].item.prompt)
        return nodes

    def _job(self, item: TaskItem, caller: AgentNode | None) -> Job:
        definition = self.catalog.read()[item.agent]
        try:
            submission = TaskSubmission(item.output_schema, item.schema_mode)
        except PiError as error:
            raise ToolFailed(f"outputSchema cannot be used: {error.message}") from error
        policy = SubmitPolicy(
            submission,
            soft_budget=int(self._pi.settings.get("task.softRequestBudget")),
            max_turns=definition.max_turns,
        )
        return Job(
            item=item,
            definition=definition,
            caller=caller,
            submission=submission,
            policy=policy,
            model=None,
        )

    def _add(self, job: Job, depth: int) -> AgentNode:
        item, caller = job.item, job.caller
        outputs = self._pi.context.artifacts.outputs
        parent = self._pi.context.task.prefix if caller is None else caller.id
        folder = outputs.folder.make()
        while True:
            id = outputs.allocate(item.name or item.agent, parent=parent)
            file = None if folder is None else folder / f"{id}.jsonl"
            # An agent that was killed leaves its session file but no output: its id is not reused.
            if self.tree.get(id) is None and (file is None or not file.exists()):
                break
        node = AgentNode(id, item.agent, item.title, parent=caller, depth=depth)
        node.file = file
        node.isolated = item.isolated
        node.background = item.background and caller is None
        available = self._pi.get_active_tools() if caller is None else caller.tools
        node.tools = tools_of(job.definition, available)
        if may_spawn(job.definition, node, available, max_depth(self._pi)):
            node.tools += (TASK,)
        node.cwd = None if caller is None else caller.cwd
        self._jobs[id] = job
        self.tree.add(node)
        return node

    def _launch(self, node: AgentNode, prompt: str) -> None:
        node.begin()
        node.work = self._pi.scope.spawn(self._work(node, prompt), name=f"agent {node.id}")
        node.work.add_done_callback(lambda _: self._never_began(node))
        self.tree.changed()

    def _never_began(self, node: AgentNode) -> None:
        """Settle an agent whose task was cancelled before its first step, so that no code ran."""
        if node.state == "queued":
            node.settle("cancelled", "it was cancelled")
            self._remember(node)
            node.release()
            self.tree.changed()

    # Working --------------------------------------------------------------------------------------

    async def _work(self, node: AgentNode, prompt: str) -> None:
        copy: list[asyncio.Task[WorkingCopy]] = []
        ending = Ending(state="cancelled", reason="it was cancelled")
        try:
            await self.tree.slots.acquire()
            try:
                node.state, node.began_ms = "running", self._pi.scope.clock.now_ms()
                self._remember(node)
                ending = await self._attempt(node, prompt, copy)
            finally:
                self.tree.slots.release()
        except asyncio.CancelledError:
            node.is_cancelled = True
        except (PiError, OSError) as error:
            ending = Ending(state="failed", reason=one_line(str(error)) or type(error).__name__)
        except Exception as error:
            self._pi.log.exception("agent %s failed", node.id)
            reason = f"{type(error).__name__}: {one_line(str(error))}"
            ending = Ending(state="failed", reason=reason)
        finally:
            # In a task of its own: a second cancellation must not stop the cleanup.
            cleanup = self._finish(node, ending, copy[0] if copy else None)
            await asyncio.shield(self._pi.scope.spawn(cleanup, name=f"end of {node.id}"))

    async def _attempt(
        self, node: AgentNode, prompt: str, copy: list[asyncio.Task[WorkingCopy]]
    ) -> Ending:
        job = self._jobs[node.id]
        if node.runner is None:
            source = node.cwd or self._pi.context.cwd
            if node.isolated:
                # In a task of its own: a half-made copy could not be cleaned up.
                making = self._copies.open(node, source)
                copy.append(self._pi.scope.spawn(making, name=f"copy for {node.id}"))
                node.cwd = (await asyncio.shield(copy[0])).cwd
            node.runner = await self._open(node, job, copy[0].result() if copy else None)
        runner = node.runner
        self.tree.changed()
        extra = self._pending.pop(node.id, [])
        text = "\n\n".join([prompt, *extra])
        seconds = int(self._pi.settings.get("task.maxRuntimeMs")) / 1000
        end, timed_out = await self._within(runner, text, seconds)
        if timed_out:
            reason = f"it took longer than {seconds:g} s (task.maxRuntimeMs)"
            return Ending(state="failed", reason=reason, output=end.text)
        if isinstance(runner, ProcessRunner):
            return await self._process_ending(runner, job, end)
        return ending_of(job.item, job.submission.result, end)

    async def _open(self, node: AgentNode, job: Job, copy: WorkingCopy | None) -> Runner:
        chosen = choose_model(self._pi, job.definition, job.item, job.caller)
        if chosen.note:
            node.notes.append(chosen.note)
        if chosen.model is not None:
            node.model = f"{chosen.model.provider}/{chosen.model.id}"
        self._jobs[node.id] = job = replace(job, model=chosen.model)
        as_process = bool(self._pi.context.environ.get(COMMAND, "").strip())
        custom = [job.submission.tool]
        if TASK in node.tools:
            custom.append(self.task_tool(node, job.definition))
        spec = RunnerSpec(
            system=system_text(self._pi, job.definition, node, None if copy is None else copy.cwd),
            tools=tuple(name for name in node.tools if name != TASK),
            custom_tools=tuple(custom),
            policies=(job.policy,),
            model=chosen.model,
            thinking=chosen.thinking,
            cwd=node.cwd,
            copy_root=None if copy is None else copy.path,
            file=node.file,
            task=TaskOptions(
                agent=job.definition.name,
                depth=node.depth,
                prefix=node.id,
                output_schema=job.item.output_schema,
                requires_result=False,  # the tool is passed
            ),
        )
        if not as_process:
            return await NestedRunner.open(self._pi, node, spec, self.tree.changed)
        system = job.definition.prompt
        if job.item.output_schema is not None:
            system += "\n\n" + JSON_RESULT.format(schema=output_text(job.item.output_schema))
        spec = replace(spec, system=system)
        runner = await ProcessRunner.open(self._pi, node, spec, self.tree.changed)
        if is_planning(self._pi):  # it was switched on while the program started
            await runner.close()
            raise ToolFailed("plan mode was switched on")
        return runner

    async def _within(self, runner: Runner, text: str, seconds: float) -> tuple[RunEnd, bool]:
        """Run a prompt; aborts it after ``seconds``, if there is a limit."""
        if seconds <= 0:
            return await runner.run(text), False
        run = asyncio.ensure_future(runner.run(text))
        timer = asyncio.ensure_future(self._pi.scope.clock.sleep(seconds))
        try:
            await asyncio.wait({run, timer}, return_when=asyncio.FIRST_COMPLETED)
            timed_out = not run.done()
            if timed_out:
                await runner.abort()
            return await run, timed_out
        finally:
            for task in (run, timer):
                task.cancel()
            await asyncio.wait({run, timer})

    async def _process_ending(self, runner: ProcessRunner, job: Job, end: RunEnd) -> Ending:
        """The ending of an agent without the tool ``yield``: its last message is the result.

        An invalid result is requested again.
        """
        for reminder in (*REMINDERS, "")[: MAX_REMINDERS + 1]:
            if end.failure or not end.text:
                break
            error = await job.submission.submit_text(end.text)
            if not error or not reminder:
                break
            end = await runner.run(f"{error}\n\nSend the whole corrected result.")
        return ending_of(job.item, job.submission.result, end)

    # Ending ---------------------------------------------------------------------------------------

    async def _finish(
        self, node: AgentNode, ending: Ending, making: asyncio.Task[WorkingCopy] | None
    ) -> None:
        try:
            await self.cancel(node.children)
            copy = await _finished_copy(making)
            runner = node.runner
            if runner is not None and (copy is not None or node.is_cancelled):
                await runner.close()  # from here on nothing may write to the copy
            state = ending.state
            if copy is not None:
                node.state = "merging"
                self.tree.changed()
                report = await self._copies.finish(copy, node, merge=state == "completed")
                node.branch, node.path = report.branch, report.path
                node.is_merged = report.is_merged
                node.notes.append(report.note)
                node.cwd = None if node.parent is None else node.parent.cwd
            text = "" if ending.output is None else output_text(ending.output)
            node.output = limited(text, OutputLimits.of(self._pi.context.environ))
            self._pi.context.artifacts.outputs.save(node.id, node.output or ending.reason)
            self._record(node)
            node.settle(state, ending.reason)
            if copy is not None or node.is_cancelled:
                node.drop_runner()
            else:
                self._park(node)
        except StaleSession:
            node.settle("cancelled", "its session has ended")
        except Exception as error:
            self._pi.log.exception("agent %s could not be closed", node.id)
            node.settle("failed", f"it could not be closed: {one_line(str(error))}")
        finally:
            node.ended_ms = self._pi.scope.clock.now_ms()
            if node.is_active:
                node.settle("cancelled", "its session has ended")
            self._remember(node)
            node.release()
            self.tree.changed()

    def _record(self, node: AgentNode) -> None:
        """Add tokens and cost to the totals of the session, also if the agent failed."""
        model, runner = self._jobs[node.id].model, node.runner
        if runner is not None and model is not None:
            self._pi.models.record(runner.take_usage(), model)

    def _remember(self, node: AgentNode) -> None:
        try:
            self._pi.append_entry(ENTRY, node.entry())
            self._pi.scope.spawn(self._pi.publish(ENTRY, node.row()), name=ENTRY)
        except (StaleSession, PiError, OSError):
            self._pi.log.info("agent %s ended after its session", node.id)

    # Parked agents --------------------------------------------------------------------------------

    def _park(self, node: AgentNode) -> None:
        """Keep the session of an agent open for a while."""
        seconds = int(self._pi.settings.get("task.agentIdleTtlMs")) / 1000
        if seconds <= 0:
            self._pi.scope.spawn(self._unpark(node), name=f"close {node.id}")
            return
        self._parked = [parked for parked in self._parked if parked is not node] + [node]
        work = node.work

        async def expire() -> None:
            await self._pi.scope.clock.sleep(seconds)
            if node.work is work:  # it was not continued meanwhile
                await self._unpark(node)

        self._pi.scope.spawn(expire(), name=f"idle {node.id}")
        for oldest in self._parked[:-MAX_PARKED]:
            self._pi.scope.spawn(self._unpark(oldest), name=f"close {oldest.id}")

    async def _unpark(self, node: AgentNode) -> None:
        self._parked = [parked for parked in self._parked if parked is not node]
        if not node.is_active and (runner := node.drop_runner()) is not None:
            await runner.close()
            self.tree.changed()

    def can_continue(self, node: AgentNode) -> bool:
        """Whether an agent that has ended can be continued with another message."""
        if node.is_active or node.isolated:
            return False
        return node.runner is not None or (node.file is not None and node.file.exists())

    async def send(self, node: AgentNode, text: str) -> bool:
        """Steer a running agent, or continue one that has ended. Returns whether it was continued.

        Raises ``ToolFailed`` if it cannot be continued.
        """
        if node.is_active:
            if node.runner is None or node.state != "running":
                self._pending.setdefault(node.id, []).append(text)
            else:
                await node.runner.steer(text)
            return False
        if node.isolated:
            raise ToolFailed(
                f"{node.id} worked in a copy of the project that is gone. Start a new task."
            )
        if not self.can_continue(node):
            raise ToolFailed(f"{node.id} has no history any more. Start a new task.")
        self._prepare_again(node)
        node.background = True
        self._launch(node, text)
        return True

    def _prepare_again(self, node: AgentNode) -> None:
        if node.id in self._jobs:
            return
        definition = self.catalog.usable().get(node.agent)
        if definition is None:
            raise ToolFailed(f"The agent {node.agent} of {node.id} does not exist any more.")
        item = TaskItem(agent=node.agent, task=node.title, output_schema=definition.output)
        self._jobs[node.id] = self._job(item, node.parent)
        node.tools = tools_of(definition, self._pi.get_active_tools())

    # Cancelling -----------------------------------------------------------------------------------

    async def cancel(self, nodes: Iterable[AgentNode]) -> int:
        """Cancel agents and their sub-agents, and wait until they have settled.

        Returns how many of ``nodes`` were active.
        """
        active = [node for node in nodes if node.is_active]
        for node in active:
            for member in reversed([*node.walk()]):
                if member.is_active and member.work is not None and not member.is_cancelled:
                    member.is_cancelled = True
                    member.work.cancel()
        for node in active:
            await node.wait()
        return len(active)

    async def end_processes(self, why: str) -> None:
        """Cancel the agents that run in processes of their own, and end their processes."""
        every = (*self.tree.active(), *self._parked)
        nodes = [node for node in every if isinstance(node.runner, ProcessRunner)]
        for node in nodes:
            if node.is_active:
                node.notes.append(f"It was cancelled: {why}.")
        await self.cancel(nodes)
        for node in nodes:
            if (runner := node.drop_runner()) is not None:
                await runner.close()

    async def close(self) -> None:
        """Cancel all agents and close their sessions, at the end of this session."""
        await self.cancel(self.tree.active())
        for node in self.tree.all():
            if (runner := node.drop_runner()) is not None:
                await runner.close()


async def _finished_copy(making: asyncio.Task[WorkingCopy] | None) -> WorkingCopy | None:
    """The working copy; ``None`` without one, or if making it failed, which was reported."""
    if making is None:
        return None
    await asyncio.wait({making})
    failed = making.cancelled() or making.exception() is not None
    return None if failed else making.result()

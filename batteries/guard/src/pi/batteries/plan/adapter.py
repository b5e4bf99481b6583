"""Plan mode in a session: commands, flags, a key, events, and the tool that proposes a plan."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pi.batteries.plan import texts
from pi.batteries.plan.guard import PROPOSE
from pi.batteries.plan.mode import PlanMode
from pi.extension import (
    CallEffects,
    CommandContext,
    ExtensionAPI,
    ExtensionContext,
    MessageEntry,
    Meta,
    Option,
    PiError,
    Record,
    Registration,
    Scope,
    SessionCompactEvent,
    SessionControl,
    SessionStartEvent,
    SessionTreeEvent,
    ToolContext,
    ToolFailed,
    ToolResult,
    make_tool,
    one_line,
)

APPROVE = "Approve"
CLEAR = "Approve and clear context"
COMPACT = "Approve and compact"
REFINE = "Refine"
OPTIONS = (
    Option(label=APPROVE, description="carry out the plan in this conversation"),
    Option(label=CLEAR, description="in a new session that knows only the plan"),
    Option(label=COMPACT, description="summarise the conversation first"),
    Option(label=REFINE, description="say what to change; plan mode stays on"),
)
HANDOVER = "plan-handover"
"""Key of the shared object that passes an approved plan to a new session."""
HANDOVER_SECONDS = 60.0
COMPACTION = "The plan below was approved and is carried out next. Keep what it needs.\n\n{plan}"
_HEADING = re.compile(r"^#+\s+(.*)$", re.MULTILINE)
_TEXT = re.compile(r"[^\W_]+")
MAX_SLUG = 60


class PlanParams(Record):
    """Arguments of a proposal."""

    title: Annotated[str, Meta(description="The plan in one line")] = ""
    plan: Annotated[
        str, Meta(description="The whole plan as Markdown; empty if the plan file has it")
    ] = ""


class PlanDecision(Record):
    """The decision of the user about a plan."""

    choice: str
    """The label of the chosen option."""
    feedback: str = ""


class Handover:
    """Passes an approved plan to a new session."""

    def __init__(self) -> None:
        self.order = ""

    def take(self) -> str:
        """Remove and return the prompt for the new session; empty if there is none."""
        order, self.order = self.order, ""
        return order


class Proposals:
    """Proposals of one session."""

    def __init__(self, pi: ExtensionAPI, mode: PlanMode, *, approves: bool) -> None:
        self._pi = pi
        self._mode = mode
        self._approves = approves
        """Whether plans are approved without a question."""
        self._tool: Registration | None = None

    def declare(self) -> None:
        """Add the tool. It is never removed, so that prompt caches stay valid."""
        if self._tool is None:
            self._tool = self._pi.add_tool(
                make_tool(
                    name=PROPOSE,
                    label="propose plan",
                    description=texts.DESCRIPTION,
                    params=PlanParams,
                    run=self._run,
                    effects=self._effects,
                    execution_mode="sequential",
                    approval="read",
                )
            )

    def _effects(self, params: PlanParams) -> CallEffects:
        """The plan file; the user is asked about the plan, not about the file."""
        files = self._pi.context.files
        return files.effects(
            files.effect(str(self._mode.file), writes=bool(params.plan.strip())),
        )

    async def _run(self, params: PlanParams, ctx: ToolContext) -> ToolResult:
        mode = self._mode
        if not mode.is_on:
            raise ToolFailed("Plan mode is off: nothing needs to be proposed. Go on with the work.")
        if params.plan.strip():
            await mode.write(params.plan)
        plan = await mode.read()
        if not plan.strip():
            raise ToolFailed(
                f"There is no plan yet: pass it as `plan`, or write it to {mode.file}."
            )
        details = {"title": params.title or title_of(plan), "plan": plan, "file": str(mode.file)}
        ctx.update(ToolResult.of("Waiting for the user's decision.", details=details))
        if self._approves:
            decision: PlanDecision | None = PlanDecision(choice=APPROVE)
        elif not self._pi.context.has_ui:
            return ToolResult.of(texts.NO_USER.format(file=mode.file), details=details)
        else:
            decision = await self.ask(params.title or title_of(plan))
        if decision is None:
            return self._result(texts.UNDECIDED, details, "undecided", terminate=True)
        if decision.choice == REFINE:
            return self._result(texts.refined(decision.feedback), details, "refine")
        return await self._approved(decision.choice, plan, details)

    @staticmethod
    def _result(
        text: str, details: dict[str, Any], decision: str, *, terminate: bool = False
    ) -> ToolResult:
        return ToolResult.of(text, details={**details, "decision": decision}, terminate=terminate)

    async def _approved(self, choice: str, plan: str, details: dict[str, Any]) -> ToolResult:
        await self._mode.leave(None)
        if saved := await self._autosave(plan):
            details = {**details, "saved": saved}
        if choice == APPROVE:
            return self._result(texts.APPROVED, details, "approved")
        how = "in a new session" if choice == CLEAR else "after a compaction"
        await self.carry_out(choice, plan)
        return self._result(texts.MOVED.format(how=how), details, "approved", terminate=True)

    # The decision ---------------------------------------------------------------------------------

    async def ask(self, title: str) -> PlanDecision | None:
        """Ask the user; ``None`` if there is no decision."""
        ui = self._pi.context.ui
        question = f"Carry out this plan? {one_line(title)}".rstrip()
        answer = await ui.select(question, OPTIONS)
        if answer == REFINE:
            feedback = await ui.editor("What should change?", style="prompt")
            if not feedback or not feedback.strip():
                return None
            return PlanDecision(choice=REFINE, feedback=feedback.strip())
        return PlanDecision(choice=answer) if answer in (APPROVE, CLEAR, COMPACT) else None

    async def review(self, plan: str) -> None:
        """Let the user decide about the plan while the agent is idle."""
        decision = await self.ask(title_of(plan))
        if decision is None:
            return
        if decision.choice == REFINE:
            self.declare()
            await self._mode.enter()
            await self._pi.send_user_message(
                f"Change the plan in {self._mode.file} as follows, then propose it again:\n\n"
                f"{decision.feedback}"
            )
            return
        await self._mode.leave(None)
        await self._autosave(plan)
        if decision.choice == APPROVE:
            await self._pi.send_user_message(texts.order(plan, self._mode.file))
        else:
            await self.carry_out(decision.choice, plan)

    # Carrying out ---------------------------------------------------------------------------------

    async def carry_out(self, choice: str, plan: str) -> None:
        """Start to carry out the plan as soon as the agent is idle."""
        order = texts.order(plan, self._mode.file)
        if choice == COMPACT:
            self._after_compaction(order, plan)
        else:
            handover = await shared_handover(self._pi)
            handover.order = order
            self._pi.when_idle(_in_new_session)

    def _after_compaction(self, order: str, plan: str) -> None:
        async def begin(result: object) -> None:
            await self._pi.send_user_message(order)

        async def failed(error: Exception) -> None:
            message = error.message if isinstance(error, PiError) else str(error)
            self._pi.context.ui.notify(f"The conversation was not compacted: {message}", "warning")
            await self._pi.send_user_message(order)

        self._pi.context.compact(
            COMPACTION.format(plan=plan.strip()), on_complete=begin, on_error=failed
        )

    async def _autosave(self, plan: str) -> str:
        """Store an approved plan in the project; returns the path, empty if it was not stored."""
        get = self._pi.settings.get
        if not get("plan.autosave"):
            return ""
        folder = str(get("plan.autosaveDir")).rstrip("/")
        path = f"{folder}/{slug(title_of(plan))}.md"
        try:
            await self._pi.context.files.write_file(path, plan.encode())
        except PiError as error:
            self._pi.warn(f"The plan was not saved to {path}: {error.message}")
            return ""
        return path


async def _in_new_session(control: SessionControl) -> None:
    await control.new_session()


async def shared_handover(pi: ExtensionAPI) -> Handover:
    """Return the object that connects the old session with the new one."""

    async def make(scope: Scope) -> Handover:
        return Handover()

    # ``linger`` keeps the object until the new session has started.
    return await pi.shared(HANDOVER, make, linger=HANDOVER_SECONDS)


def title_of(plan: str) -> str:
    """Return the first heading of a plan, or its first line."""
    heading = _HEADING.search(plan)
    line = heading[1] if heading else next((ln for ln in plan.splitlines() if ln.strip()), "")
    return one_line(line.strip())


def slug(title: str) -> str:
    """Return a file name for a title."""
    hyphenated = "-".join(_TEXT.findall(title.lower()))
    return hyphenated[:MAX_SLUG].strip("-") or "plan"


SETTINGS: tuple[tuple[str, Any, Any, str], ...] = (
    ("plan.enabled", bool, False, "offer plan mode: the key, and the tool from the first request"),
    ("plan.defaultOnStartup", bool, False, "start new sessions in plan mode"),
    ("plan.autosave", bool, False, "store approved plans in the project"),
    ("plan.autosaveDir", str, ".pi/plans", "where approved plans are stored"),
)
KEY = "alt+m"
"""Terminals send it as Escape and m. Not alt+shift+p: Escape and P introduce a DCS string."""
USAGE = "Usage: /plan, /plan TASK, /plan off"
NO_PLAN = "There is no plan yet. The model writes one in plan mode: /plan TASK"


def extension(pi: ExtensionAPI) -> None:
    """Register commands, flags, the key and the guards."""
    pi.settings.declare_all(SETTINGS)
    pi.register_flag("plan-mode", type="boolean", description="start in plan mode")
    pi.register_flag("plan-yolo", type="boolean", description="plan first, approve by itself")
    pi.register_flag("plan", type="string", description="the model for the role plan")
    planning = Planning(pi)
    pi.add_view("tool", "propose_plan", "pi.batteries.plan.views:proposal")
    pi.register_command(
        "plan",
        planning.command,
        description="plan mode on or off: /plan, /plan TASK, /plan off",
        completions=lambda begin: [word for word in ("off",) if word.startswith(begin)],
        needs_run_here=True,
    )
    pi.register_command(
        "plan-review",
        planning.review,
        description="show the plan again, and approve or refine it",
        needs_run_here=True,
    )
    pi.register_shortcut(KEY, planning.toggle, description="plan mode on or off")
    pi.on("session_start", planning.session_start)
    pi.on("session_tree", planning.session_tree)
    pi.on("session_compact", planning.session_compact)
    guard = planning.mode.guard
    pi.on("tool_call", guard.call)
    # Policy last: other handlers may change arguments. File layer first: nothing is formatted
    # or stored before it is refused. Spawn wrap last: the sandbox is outermost.
    pi.add_policy(guard, at="last")
    pi.wrap_files(guard.write, at="first")
    pi.wrap_spawn(guard.spawn, at="last")
    # For extensions that change files on their own, such as merges of sub-agents.
    pi.provide("plan-mode", planning.mode)
    # Sandboxes cannot be nested: the sandbox battery adds none where ``guard.covers`` is true.
    pi.provide("command-sandbox", guard)


class Planning:
    """Commands and event handlers of plan mode."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi
        self.mode = PlanMode(pi)
        self._approves = pi.get_flag("plan-yolo") is True
        self._proposals = Proposals(pi, self.mode, approves=self._approves)

    # Events ---------------------------------------------------------------------------------------

    async def session_start(self, event: SessionStartEvent, ctx: ExtensionContext) -> None:
        """Restore the state; enter plan mode if configured, or carry out an approved plan."""
        self.mode.restore()
        if self.mode.is_on or self._pi.settings.get("plan.enabled"):
            self._proposals.declare()
        if event.reason == "startup" and self._starts_on(ctx):
            await self._enter()
        if event.reason == "new" and (order := (await shared_handover(self._pi)).take()):
            await self._pi.send_user_message(order)

    def _starts_on(self, ctx: ExtensionContext) -> bool:
        if self._approves or self._pi.get_flag("plan-mode") is True:
            return True
        if self._pi.settings.get("plan.defaultOnStartup") is not True:
            return False
        return not any(
            isinstance(entry, MessageEntry) for entry in ctx.session_manager.get_branch()
        )

    async def session_tree(self, event: SessionTreeEvent, ctx: ExtensionContext) -> None:
        """Use the state of the branch that the session moved to."""
        was_on = self.mode.is_on
        self.mode.restore()
        if self.mode.is_on:
            self._proposals.declare()
        if self.mode.is_on != was_on:
            await self.mode.publish()

    async def session_compact(self, event: SessionCompactEvent, ctx: ExtensionContext) -> None:
        """Repeat the announcement if the compaction has removed it."""
        if self.mode.is_on and not self.mode.is_announced():
            await self.mode.announce()

    # Commands -------------------------------------------------------------------------------------

    async def _enter(self) -> None:
        self._proposals.declare()
        await self.mode.enter()

    async def _leave(self, ctx: CommandContext) -> None:
        if self.mode.is_on:
            await self.mode.leave()
        ctx.ui.notify("Plan mode is off.", "info")

    async def toggle(self, ctx: CommandContext) -> None:
        """Switch plan mode on or off."""
        if self.mode.is_on:
            await self._leave(ctx)
        else:
            await self._enter()
            ctx.ui.notify("Plan mode is on: nothing is changed until you approve a plan.", "info")

    async def command(self, arguments: str, ctx: CommandContext) -> None:
        """``/plan``: switch plan mode; with a text, plan that task."""
        text = arguments.strip()
        if text == "off":
            await self._leave(ctx)
            return
        if not text:
            await self.toggle(ctx)
            return
        await self._enter()
        await ctx.send_user_message(text, deliver_as=None if ctx.is_idle() else "follow_up")

    async def review(self, arguments: str, ctx: CommandContext) -> None:
        """``/plan-review``: show the plan and ask for a decision."""
        plan = await self.mode.read()
        if not plan.strip():
            ctx.ui.notify(NO_PLAN, "warning")
            return
        ctx.write(plan.rstrip() + "\n")
        if ctx.has_ui:
            await ctx.wait_for_idle()
            await self._proposals.review(plan)

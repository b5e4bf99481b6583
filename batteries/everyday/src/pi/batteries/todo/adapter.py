"""The task list in a session: the tool, its state, the panel, ``/todo``, and the reminders."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal

from pi.batteries.todo.state import (
    CLOSED,
    Phases,
    TodoOp,
    apply_batch,
    open_tasks,
    phases_of,
    tasks_of,
    to_json,
    without_closed,
)
from pi.batteries.todo.text_forms import from_markdown, summary, to_markdown
from pi.extension import (
    AgentBeforeSettleEvent,
    AssistantMessage,
    BeforeAgentStartAnswer,
    BeforeAgentStartEvent,
    BoundaryAnswer,
    CommandContext,
    Custom,
    CustomMessageEntry,
    Entry,
    ExtensionAPI,
    ExtensionContext,
    MessageEntry,
    Meta,
    PiError,
    Record,
    Registration,
    SessionStartEvent,
    SessionTreeEvent,
    Text,
    ToolCall,
    ToolContext,
    ToolResult,
    ToolResultEvent,
    ToolResultMessage,
    make_tool,
)

NAME = "todo"
USER_EDIT = "user_todo_edit"
"""Custom type of the entries that store the user's changes."""
OPEN_TASKS = "todo-reminder"
"""Custom type of the reminders of open tasks; the user sees one line of them."""
DESCRIPTION = """\
Keep the task list of this session. The user sees it while you work.
Use it for work of three or more steps; skip it for a single step or a question.
`ops` are applied in order; if one fails, none of them takes effect.
- init: replace the list with `list` (phases with items)
- start: begin `task`; the task in progress becomes pending
- done, drop, rm: complete, abandon or remove `task`, a whole `phase`, or everything
- append: add `items` to `phase`
- view: show the list
Tasks and phases are named by their exact text, so each text must be unique.
Mark a task done as soon as it is done. One task is in progress at any time: after a change the \
first pending task is started if none is."""
REMINDER = """\
<system-reminder>
This is an automatic reminder of the todo tool, not a message of the user.
{text}
</system-reminder>"""
USAGE = (
    "Usage: /todo, /todo edit, /todo append <phase>: <task>, /todo start|done|drop|rm <task or"
    " phase>, /todo clear, /todo export <file>, /todo import <file>"
)
WORDS = ("edit", "append", "start", "done", "drop", "rm", "clear", "export", "import")

SETTINGS: tuple[tuple[str, type[Any], Any, str], ...] = (
    ("todo.enabled", bool, False, "give the model the todo tool"),
    ("todo.reminders", int, 1, "reminders of open tasks per prompt"),
    ("tasks.todoClearDelay", float, 60, "seconds that closed tasks are shown"),
)


class TodoParams(Record):
    """Arguments of a call."""

    ops: Annotated[
        tuple[TodoOp, ...], Meta(min_length=1, description="Operations, applied in order")
    ]


def extension(pi: ExtensionAPI) -> None:
    """Register the tool, ``/todo`` and the panel."""
    pi.settings.declare_all(SETTINGS)
    todo = SessionTodo(pi)
    pi.add_view("tool", NAME, "pi.batteries.todo.views:todo")
    pi.add_view("message", OPEN_TASKS, "pi.batteries.todo.views:reminder")
    pi.register_command(
        NAME,
        todo.command,
        description="show or edit the task list: /todo, /todo edit, /todo done <task>",
        completions=lambda begin: [word for word in WORDS if word.startswith(begin)],
    )
    pi.on("session_start", todo.session_start)
    pi.on("session_tree", todo.session_tree)
    pi.on("before_agent_start", todo.before_agent_start)
    pi.on("tool_result", todo.tool_result)
    pi.on("agent_before_settle", todo.before_settle)


class SessionTodo:
    """The task list of one session. The session log is its storage."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi
        self._phases: Phases | None = None
        """The current list; ``None`` until it was read from the branch."""
        self._failed = False
        """Whether the last call of the tool failed."""
        self._reminded = 0
        """Reminders since the last prompt of the user."""
        self._reminded_of: Phases = ()
        """The list of the last reminder."""
        self._is_reminder_due = False
        """Whether the last run ended with an answer although tasks were open."""
        self._hidden: frozenset[str] = frozenset()
        """Closed tasks that the panel no longer shows."""
        self._clearing: Registration | None = None
        # Inactive until the user enables it: with a setting, by name, or by making a list.
        self._tool = pi.add_tool(self._make_tool(), exposure="on_demand")
        self._is_active = False

    @property
    def phases(self) -> Phases:
        """The current list."""
        if self._phases is None:
            self._phases = without_closed(self._stored_phases())
        return self._phases

    # Tool -----------------------------------------------------------------------------------------

    def _make_tool(self) -> Any:
        return make_tool(
            name=NAME,
            label=NAME,
            description=DESCRIPTION,
            params=TodoParams,
            run=self._run,
            strict=True,
            execution_mode="sequential",  # of two parallel batches one would be lost
        )

    async def _run(self, params: TodoParams, ctx: ToolContext) -> ToolResult:
        batch = apply_batch(self.phases, params.ops)
        if not batch.errors and not batch.read_only:
            self._phases = batch.phases
            self._show()
        details: dict[str, Any] = {"phases": to_json(batch.phases), "storage": self._storage()}
        if batch.completed:
            details["completedTasks"] = [
                {"phase": phase, "content": content} for phase, content in batch.completed
            ]
        return ToolResult.of(summary(batch), details=details, is_error=bool(batch.errors))

    def _storage(self) -> Literal["session", "memory"]:
        file = self._pi.context.session_manager.get_session_file()
        return "memory" if file is None else "session"

    def _activate(self) -> None:
        if not self._is_active:
            self._is_active = True
            self._tool.remove()
            self._tool = self._pi.add_tool(self._make_tool(), exposure="active")

    # Events ---------------------------------------------------------------------------------------

    def session_start(self, event: SessionStartEvent, ctx: ExtensionContext) -> None:
        """Read the list of the session."""
        self._phases = None
        if self._pi.settings.get("todo.enabled") or self.phases:
            self._activate()
        self._show()

    def session_tree(self, event: SessionTreeEvent, ctx: ExtensionContext) -> None:
        """Read the list of the branch that the session moved to."""
        self._phases = None
        self._failed = self._is_reminder_due = False
        self._show()

    def tool_result(self, event: ToolResultEvent, ctx: ExtensionContext) -> None:
        """Remember whether the last update failed; also if its arguments were invalid."""
        if event.tool_name == NAME:
            self._failed = event.is_error
            if event.is_error:
                ctx.ui.notify("Todo update failed; the list may be out of date.", "warning")

    async def before_agent_start(
        self, event: BeforeAgentStartEvent, ctx: ExtensionContext
    ) -> BeforeAgentStartAnswer | None:
        """Remind the model of a failed update that it has not retried, or of open tasks."""
        self._reminded = 0
        if self._failed:
            self._failed = False
            text = "The last update of the todo list failed and changed nothing. Retry it, or the"
            return BeforeAgentStartAnswer(
                message={
                    "custom_type": "todo-error-reminder",
                    "content": REMINDER.format(text=f"{text} user does not see your progress."),
                    "display": False,
                }
            )
        if not self._is_reminder_due:
            return None
        self._is_reminder_due = False
        if not self._may_remind() or self.phases == self._reminded_of:
            return None
        reminder = await self._remind(
            "Your last answer left tasks of the todo list open", "If the prompt continues this work"
        )
        return BeforeAgentStartAnswer(message=reminder)

    async def before_settle(
        self, event: AgentBeforeSettleEvent, ctx: ExtensionContext
    ) -> BoundaryAnswer | None:
        """Continue a run that ends without an answer although tasks are open.

        After an answer a further request would only repeat it, so the reminder waits for the next
        prompt.
        """
        if event.outcome != "completed" or event.continue_ or ctx.has_pending_messages():
            return None
        if not self._may_remind():
            return None
        if _has_answered(event.context.context_messages):
            self._is_reminder_due = True
            return None
        reminder = await self._remind(
            "You stopped, but the todo list has open tasks", "If they are needed"
        )
        return BoundaryAnswer(entries=(CustomMessageEntry(**reminder),), continue_=True)

    def _may_remind(self) -> bool:
        return (
            self._reminded < self._pi.settings.get("todo.reminders")
            and NAME in self._pi.get_active_tools()
            and bool(open_tasks(self.phases))
        )

    async def _remind(self, reason: str, condition: str) -> dict[str, Any]:
        """Count and publish a reminder of the open tasks; return its message."""
        self._reminded += 1
        self._reminded_of = self.phases
        remaining, limit = open_tasks(self.phases), self._pi.settings.get("todo.reminders")
        todos = [{"content": task.content, "status": task.status} for _, task in remaining]
        await self._pi.publish(
            "todo_reminder", {"todos": todos, "attempt": self._reminded, "maxAttempts": limit}
        )
        tasks = "\n".join(f"- {task.content} [{task.status}]" for _, task in remaining)
        text = (
            f"{reason}:\n{tasks}\n"
            f"{condition}, continue with them. If they are finished, mark them done; if they are"
            " not needed, drop them. If you wait for the user, say so in one sentence and stop."
        )
        return {
            "custom_type": OPEN_TASKS,
            "content": REMINDER.format(text=text),
            "display": True,
            "details": {"open": len(remaining)},
        }

    # Session log ----------------------------------------------------------------------------------

    def _stored_phases(self) -> Phases:
        """The last list on the current branch, closed tasks included."""
        return stored_phases(self._pi.context.session_manager.get_branch())

    # Panel ----------------------------------------------------------------------------------------

    def _show(self) -> None:
        """Show the list above the editor, and hide closed tasks after a while."""
        if self._clearing is not None:
            self._clearing.remove()
            self._clearing = None
        closed = frozenset(t.content for _, t in tasks_of(self.phases) if t.status in CLOSED)
        delay = self._pi.settings.get("tasks.todoClearDelay")
        self._hidden = closed if delay == 0 else self._hidden & closed
        self._draw()
        if closed - self._hidden and delay > 0 and self._pi.context.has_ui:
            self._clearing = self._pi.scope.every(delay, self._clear)

    def _clear(self) -> None:
        if self._clearing is not None:
            self._clearing.remove()
            self._clearing = None
        self._hidden = frozenset(t.content for _, t in tasks_of(self.phases) if t.status in CLOSED)
        self._draw()

    def _draw(self) -> None:
        ctx = self._pi.context
        if not ctx.has_ui:
            return
        if not any(task.content not in self._hidden for _, task in tasks_of(self.phases)):
            ctx.ui.set_widget(NAME, None)
            return
        # Deferred: modes without a screen never draw the list.
        from pi.batteries.todo.views import TodoPanel, panel

        phases, hidden = self.phases, self._hidden
        if ctx.mode == "tui":
            ctx.ui.set_widget(
                NAME, lambda tui, theme: TodoPanel(phases, hidden, lambda: ctx.ui.theme)
            )
        else:
            ctx.ui.set_widget(NAME, panel(phases, hidden, ctx.ui.theme))

    # Command --------------------------------------------------------------------------------------

    async def command(self, arguments: str, ctx: CommandContext) -> None:
        """Run ``/todo``."""
        word, _, rest = arguments.strip().partition(" ")
        rest = rest.strip()
        match word:
            case "":
                self._list(ctx)
            case "edit":
                await self._edit(ctx)
            case "export" | "import" if rest:
                await (self._export(rest, ctx) if word == "export" else self._import(rest, ctx))
            case "append" if ":" in rest:
                phase, _, item = rest.partition(":")
                op = TodoOp(op="append", phase=phase.strip(), items=(item.strip(),))
                await self._change([op], ctx)
            case "start" if rest:
                await self._change([TodoOp(op="start", task=self._task(rest))], ctx)
            case "done" | "drop" | "rm" if rest:
                is_phase = any(phase.name == rest for phase in self._stored_now())
                op = TodoOp(op=word, phase=rest)
                if not is_phase:
                    op = TodoOp(op=word, task=self._task(rest))
                await self._change([op], ctx)
            case "clear" if not rest:
                await self._store((), ctx)
            case _:
                ctx.ui.notify(USAGE, "warning")

    def _stored_now(self) -> Phases:
        """The list, including closed tasks that were dropped when the session was resumed."""
        self.phases  # noqa: B018  (reads the branch before the first change)
        stored = self._stored_phases()
        return stored if without_closed(stored) == without_closed(self.phases) else self.phases

    def _task(self, text: str) -> str:
        """The task with that text, or the only one that contains it; else ``text`` itself."""
        contents = [task.content for _, task in tasks_of(self._stored_now())]
        if text in contents:
            return text
        alike = [content for content in contents if text.lower() in content.lower()]
        return alike[0] if len(alike) == 1 else text

    def _list(self, ctx: CommandContext) -> None:
        if phases := self._stored_now():
            ctx.write(to_markdown(phases).strip())  # a notification has only one line
        else:
            ctx.ui.notify(f"The todo list is empty. {USAGE}", "info")

    async def _edit(self, ctx: CommandContext) -> None:
        before = self._stored_now()
        text = to_markdown(before) or "# Todos\n- [ ] "
        edited = await ctx.ui.editor("Edit the todo list (Ctrl+G opens your editor)", text)
        if edited is None or edited.strip() == text.strip():
            return
        await self._store_markdown(edited, ctx)

    async def _export(self, path: str, ctx: CommandContext) -> None:
        try:
            await ctx.files.write_file(path, to_markdown(self._stored_now()).encode())
        except PiError as error:
            ctx.ui.notify(f"Cannot export the todo list: {error.message}", "error")
            return
        ctx.ui.notify(f"Exported the todo list to {path}.", "info")

    async def _import(self, path: str, ctx: CommandContext) -> None:
        try:
            text = (await ctx.files.read_file(path, most=1 << 20)).decode("utf-8", "replace")
        except PiError as error:
            ctx.ui.notify(f"Cannot import a todo list: {error.message}", "error")
            return
        await self._store_markdown(text, ctx)

    async def _store_markdown(self, text: str, ctx: CommandContext) -> None:
        phases, errors = from_markdown(text)
        if errors:
            ctx.ui.notify("The todo list is unchanged. " + " ".join(errors), "error")
            return
        await self._store(phases, ctx)

    async def _change(self, ops: list[TodoOp], ctx: CommandContext) -> None:
        batch = apply_batch(self._stored_now(), ops)
        if batch.errors:
            ctx.ui.notify("; ".join(batch.errors), "error")
            return
        await self._store(batch.phases, ctx)

    async def _store(self, phases: Phases, ctx: CommandContext) -> None:
        """Store a change of the user, and inform the model."""
        self._phases = phases
        self._activate()
        await self._pi.append_entry(USER_EDIT, {"phases": to_json(phases)})
        markdown = to_markdown(phases).strip() or "(empty)"
        text = f"The user edited the todo list with /todo. It is now:\n{markdown}"
        await self._pi.send_message(
            {
                "custom_type": "todo-user-edit",
                "content": REMINDER.format(text=text),
                "display": False,
            }
        )
        self._show()


def stored_phases(branch: Iterable[Entry]) -> Phases:
    """The last list in the entries of a branch.

    Results of calls that only look are no source: after a resume they lack the closed tasks.
    """
    phases: Phases = ()
    looks: dict[str, bool] = {}
    """Whether the last call of an id only looked; some providers use ids again."""
    for entry in branch:
        stored = None
        match entry:
            case Custom(custom_type="user_todo_edit", data=data):
                stored = phases_of(data)
            case MessageEntry(message=AssistantMessage(content=content)):
                calls = (p for p in content if isinstance(p, ToolCall) and p.name == NAME)
                looks.update((call.id, _only_looks(call.arguments)) for call in calls)
            case MessageEntry(
                message=ToolResultMessage(
                    tool_name="todo", is_error=False, tool_call_id=id, details=details
                )
            ) if not looks.get(id):
                stored = phases_of(details)
            case _:
                pass
        phases = phases if stored is None else stored
    return phases


def _only_looks(arguments: Mapping[str, Any]) -> bool:
    ops = arguments.get("ops")
    return isinstance(ops, list | tuple) and all(
        isinstance(op, Mapping) and op.get("op") == "view" for op in ops
    )


def _has_answered(messages: Sequence[object]) -> bool:
    """Whether the last message of the model has text."""
    answers = (message for message in reversed(messages) if isinstance(message, AssistantMessage))
    answer = next(answers, None)
    if answer is None:
        return False
    return any(part.text.strip() for part in answer.content if isinstance(part, Text))

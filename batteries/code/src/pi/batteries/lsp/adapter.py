"""Language servers in a session (setting ``lsp.enabled``)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pi.batteries.lsp.actions import DESCRIPTION, LspActions, LspParams
from pi.batteries.lsp.config import ServerRow
from pi.batteries.lsp.diagnostics import diagnose, report
from pi.batteries.lsp.pool import PoolUser, ServerPool
from pi.batteries.lsp.server import LanguageServer
from pi.batteries.lsp.session import LspSession, status_row
from pi.batteries.lsp.writing import LATE_NOTE, LateNotes, WriteThrough
from pi.extension import (
    CallEffects,
    CheckResult,
    CommandContext,
    ExtensionAPI,
    ExtensionContext,
    Json,
    SessionStartEvent,
    ToolApproval,
    ToolContext,
    ToolExecutionEndEvent,
    ToolExecutionStartEvent,
    ToolFailed,
    ToolResult,
    UserBashEvent,
    make_tool,
)

SETTINGS: tuple[tuple[str, type[Any], Any, str], ...] = (
    ("lsp.enabled", bool, False, "use language servers"),
    ("lsp.lazy", bool, True, "start servers with the first matching write or query"),
    ("lsp.shared", bool, True, "share servers between sessions and sub-agents of this process"),
    ("lsp.diagnosticsOnWrite", bool, True, "report diagnostics after write"),
    ("lsp.diagnosticsOnEdit", bool, True, "report diagnostics after edit"),
    ("lsp.formatOnWrite", bool, False, "format files when they are written or edited"),
    ("lsp.diagnosticsDeduplicate", bool, True, "report what several servers find once"),
    ("lsp.memoryLimitMb", int, 4096, "memory of a server in MB after which it is ended; 0: none"),
)
READING = frozenset({"read", "write", "edit", "lsp", "todo", "grep", "find", "ls", "ask", "job"})
"""Tools that change no files, or change them through file layers, which are tracked."""
CHECK_SECONDS = 120.0
"""Time limit of one server for the diagnostics of one file, in ``pi lsp check``."""
LINGER_SECONDS = 60.0
"""How long shared servers run without a session."""
WRITING = frozenset({"rename", "rename_file", "code_actions"})


def extension(pi: ExtensionAPI) -> None:
    """Register the tool, the command, the file layer and the checks."""
    pi.settings.declare_all(SETTINGS)
    battery = LspBattery(pi)
    pi.add_view("tool", "lsp", "pi.batteries.lsp.views:call")
    pi.add_view("message", LATE_NOTE, "pi.batteries.lsp.views:late_note")
    pi.register_flag("no-lsp", type="boolean", description="start no language servers")
    pi.register_command("lsp", battery.command, description="show language servers")
    pi.add_doctor_check("lsp", battery.check_installation)
    pi.on("session_start", battery.session_start)
    pi.on("tool_execution_start", battery.call_started)
    pi.on("tool_execution_end", battery.call_ended)
    pi.on("user_bash", battery.user_command)


class LspBattery:
    """Connects the language servers of a session with the events of pi."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi
        self._session: LspSession | None = None
        self._actions: LspActions | None = None
        self._writes: WriteThrough | None = None
        # With ``--tools lsp`` alone the model can query servers; writes are not tracked.
        self._tool = pi.add_tool(self._make_tool(), exposure="on_demand")

    @property
    def _is_off(self) -> bool:
        return bool(self._pi.get_flag("no-lsp"))

    async def session_start(self, event: SessionStartEvent, ctx: ExtensionContext) -> None:
        """Track writes if ``lsp.enabled`` is set. Start servers only if ``lsp.lazy`` is off."""
        if self._is_off or not self._pi.settings.get("lsp.enabled"):
            return
        self._tool.remove()
        self._tool = self._pi.add_tool(self._make_tool(), exposure="active")
        session, _ = await self._opened()
        self._writes = WriteThrough(session)
        # Not nested: a sub-session has its own layer, and would report everything twice.
        self._pi.wrap_files(self._writes.layer, at="last", nested=False)
        self._pi.add_policy(LateNotes(self._writes))
        if not self._pi.settings.get("lsp.lazy"):
            self._warm_up(session)

    def call_started(self, event: ToolExecutionStartEvent, ctx: ExtensionContext) -> None:
        """Record the tool of a call, to find out which tool writes a file."""
        if self._writes is not None:
            self._writes.call_started(event.tool_call_id, event.tool_name)

    def call_ended(self, event: ToolExecutionEndEvent, ctx: ExtensionContext) -> None:
        """Mark the disk as changed after a tool that may run commands."""
        if self._writes is not None:
            self._writes.call_ended(event.tool_call_id)
        if self._session is not None and event.tool_name not in READING:
            self._session.commands_ran()

    def user_command(self, event: UserBashEvent, ctx: ExtensionContext) -> None:
        """Mark the disk as changed: a command of the user may change files, too."""
        if self._session is not None:
            self._session.commands_ran()

    async def _opened(self) -> tuple[LspSession, LspActions]:
        """The servers and actions of this session; created with the first call."""
        if self._session is None or self._actions is None:
            megabytes = max(0, int(self._pi.settings.get("lsp.memoryLimitMb")))
            user = PoolUser(
                self._pi,
                memory_limit=megabytes * 2**20,
                apply_edit=self._apply_edit,
                on_progress=self._show_progress,
            )
            is_shared = self._pi.settings.get("lsp.shared")
            key = "lsp" if is_shared else f"lsp:{id(self)}"
            linger = LINGER_SECONDS if is_shared else 0
            pool = await self._pi.shared(key, _make_pool, linger=linger)
            pool.join(user)
            self._pi.scope.on_close(lambda: pool.leave(user))
            self._session = LspSession(self._pi, pool, user)
            self._actions = LspActions(self._session)
        return self._session, self._actions

    async def _apply_edit(self, server: LanguageServer, edit: Json) -> bool:
        _, actions = await self._opened()
        return await actions.apply_edit(server, edit)

    def _show_progress(self) -> None:
        """Show the progress of servers in the status line."""
        if self._session is None or self._pi.scope.closed:
            return
        busy = [
            f"{server.row.name}: {server.progress}"
            for server in self._session.running()
            if server.progress
        ]
        self._pi.context.ui.set_status("lsp", busy[0] if busy else None)

    def _warm_up(self, session: LspSession) -> None:
        """Start the servers for the files in the project's top folder, concurrently."""
        files = [path for path in sorted(self._pi.context.cwd.iterdir()) if path.is_file()]
        for suffix, path in {path.suffix: path for path in files}.items():
            self._pi.scope.spawn(session.servers_for(path), name=f"warm-up for {suffix}")

    # The tool -------------------------------------------------------------------------------------

    def _make_tool(self) -> Any:
        return make_tool(
            name="lsp",
            label="lsp",
            description=DESCRIPTION,
            params=LspParams,
            run=self._use,
            effects=self._effects,
            approval=_approval,
        )

    def _effects(self, params: LspParams) -> CallEffects:
        """The files that a call names. What a server changes beside them is known when it answers.

        The file layers check those changes.
        """
        files = self._pi.context.files
        if "*" in params.file:
            return files.effects(files.effect(".", below=True))
        writes = _changes(params.action, params.apply)
        names = [params.file, params.new_name if params.action == "rename_file" else ""]
        return files.effects(*(files.effect(name, writes=writes) for name in names if name))

    async def _use(self, params: LspParams, ctx: ToolContext) -> ToolResult:
        if self._is_off:
            raise ToolFailed("Language servers are off: pi was started with --no-lsp.")
        _, actions = await self._opened()
        return await actions.run(params, ctx)

    # The command ----------------------------------------------------------------------------------

    async def command(self, arguments: str, ctx: CommandContext) -> None:
        """``/lsp``: a screen with all servers. ``/lsp check FILE``, ``/lsp reload``."""
        action, *names = arguments.split() or [""]
        if self._is_off:
            ctx.write("Language servers are off: pi was started with --no-lsp.\n")
            return
        session, _ = await self._opened()
        if action == "check":
            await self._check(names, session, ctx)
        elif action == "reload":
            ended = await session.pool.reload(names[0] if names else "")
            session.forget_choices()
            ctx.write(f"Ended: {', '.join(ended) or 'none'}. The next use starts them again.\n")
        elif action:
            ctx.write(f"Unknown action {action}: use check or reload.\n")
        elif ctx.mode == "tui":
            await self._show_screen(session, ctx)
        else:
            rows = [status_row(server) for server in session.status()["servers"]]
            ctx.write("\n".join(rows or ["No language server has been started."]) + "\n")

    async def _show_screen(self, session: LspSession, ctx: CommandContext) -> None:
        from pi.batteries.lsp.views import LanguageServersScreen  # deferred: only drawn here

        rows = await _installed(session)

        def make(tui: Any, theme: Any, keys: Any, done: Any) -> LanguageServersScreen:
            screen = LanguageServersScreen(session.status, rows, tui, theme, done)
            timer = self._pi.scope.every(0.5, tui.request_render)
            screen.on_close(timer.remove)
            return screen

        chosen = await ctx.ui.custom(make)
        if chosen == "reload":
            ended = await session.pool.reload()
            session.forget_choices()
            ctx.ui.notify(f"Ended: {', '.join(ended) or 'none'}.", "info")

    async def _check(self, names: list[str], session: LspSession, ctx: CommandContext) -> None:
        """Print the diagnostics of files; without files, the servers. Errors set exit code 1."""
        if not names:
            programs = await _installed(session)
            for name, program, install in sorted(programs, key=lambda row: not row[1]):
                ctx.write(f"{name:20} {program or f'missing; {install}'}\n")
            return
        has_errors = False
        for name in names:
            path = Path(ctx.files.real(name))
            answered, diagnostics, problems = await diagnose(session, path, seconds=CHECK_SECONDS)
            has_errors = has_errors or bool(problems)
            has_errors = has_errors or any(entry.severity == "error" for entry in diagnostics)
            if answered:
                ctx.write(f"{report(name, answered, diagnostics)}\n")
            if problems:
                ctx.write(f"{name}: {' '.join(problems)}\n")
        if has_errors and ctx.mode == "print":
            ctx.exit(1)

    # pi doctor ------------------------------------------------------------------------------------

    async def check_installation(self, ctx: ExtensionContext) -> list[CheckResult]:
        """Check whether servers for the files in the project's top folder are installed."""
        if not self._pi.settings.get("lsp.enabled"):
            return []
        session, _ = await self._opened()
        servers = await session.servers()
        checks = [
            CheckResult(level="broken", topic="language servers", text=message)
            for message in servers.problems
        ]
        suffixes = sorted({path.suffix for path in ctx.cwd.iterdir() if path.is_file()})
        for suffix in suffixes:
            checks += _suffix_check(suffix, servers.matching(Path(f"x{suffix}")), ctx)
        return checks


def _suffix_check(
    suffix: str, rows: tuple[ServerRow, ...], ctx: ExtensionContext
) -> Iterator[CheckResult]:
    import shutil  # deferred: only doctor needs it

    rows = tuple(row for row in rows if not row.needs_marker)
    if not rows or not suffix:
        return
    path = ctx.environ.get("PATH", "")
    present = [row.name for row in rows if shutil.which(row.command, path=path)]
    topic = "language servers"
    if present:
        text = f"{suffix}: {', '.join(present)}"
        yield CheckResult(level="good", topic=topic, text=text)
    else:
        text = f"{suffix}: none is installed"
        yield CheckResult(level="missing", topic=topic, text=text, advice=rows[0].install)


async def _installed(session: LspSession) -> list[tuple[str, str, str]]:
    """Every server with its program, empty if it is missing, and how to install it."""
    import shutil  # deferred: few commands need it

    path = session.pi.context.environ.get("PATH", "")
    rows = (await session.servers()).rows
    return [
        (row.name, shutil.which(row.command, path=path) or "", row.install)
        for row in rows
        if not row.disabled
    ]


async def _make_pool(scope: Any) -> ServerPool:
    return ServerPool(scope)


def _approval(arguments: Json) -> ToolApproval:
    """The approval tier: ``write`` for changes of files, ``exec`` for ``request``."""
    action, apply = arguments.get("action"), arguments.get("apply")
    if action == "request":
        return ToolApproval(tier="exec")
    return ToolApproval(tier="write" if _changes(action, apply) else "read")


def _changes(action: object, apply: object) -> bool:
    """Whether an action changes files."""
    return action in WRITING and (apply is True if action == "code_actions" else apply is not False)

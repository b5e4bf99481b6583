"""Prevents changes in plan mode: tool calls, file writes and programs.

There are three layers, because each covers cases that the others miss: tool calls by their
declaration, files when they are written, programs when they start. Nested sessions inherit all
three. Without a sandbox, only command lines that are known to read are started.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Protocol

from pi.extension import (
    Block,
    ExtensionAPI,
    ExtensionContext,
    FileChange,
    FileWrite,
    FileWritten,
    Json,
    Policy,
    SpawnRefused,
    SpawnRequest,
    ToolCall,
    ToolCallEvent,
    ToolFailed,
    ToolRefused,
    replace,
)
from pi.extension.guards import (
    CommandPart,
    Redirection,
    SandboxPolicy,
    SandboxSupport,
    SandboxUnavailable,
    change_reason,
    credential_paths,
    find_sandbox,
    parse_command,
    sandboxed,
)

PROPOSE = "propose_plan"
HARMLESS = frozenset({PROPOSE, "ask", "todo", "task", "hub", "yield", "job", "web_search"})
"""Tools that are allowed although they do not declare to only read: they talk to the user, keep a
list, or open nested sessions, which this guard restricts as well."""
FILE_TOOLS = ("write", "edit")
OWN_PROGRAMS = frozenset({"user", "extension", "hook", "lsp", "mcp", "matcher", "browser", "ssh"})
"""Kinds of programs that the user or pi starts, not the model."""
KERNEL, AGENT = "kernel", "agent"
NULL = "/dev/null"


class PlanState(Protocol):
    """The part of ``PlanMode`` that the guard uses."""

    @property
    def is_on(self) -> bool:
        """Whether plan mode is on."""

    @property
    def file(self) -> Path:
        """The plan file, which may be written."""

    async def scratch(self) -> Path:
        """Return a temporary folder that commands may use; it is removed with the session."""


class PlanGuard(Policy):
    """Refuses calls, writes and programs that could change something in plan mode."""

    def __init__(self, pi: ExtensionAPI, state: PlanState) -> None:
        self._pi = pi
        self._state = state
        self._support: SandboxSupport | None = None
        self._probing = asyncio.Lock()

    # Tools ----------------------------------------------------------------------------------------

    async def call(self, event: ToolCallEvent, ctx: ExtensionContext) -> Block | None:
        """Refuse a call before guards ask the user about it. ``before_tool`` has the last word."""
        call = ToolCall(id=event.tool_call_id, name=event.tool_name, arguments=event.input)
        reason = await self._refusal(call) if self._state.is_on else ""
        return Block(reason=f"Plan mode is on: {reason}") if reason else None

    async def before_tool(self, call: ToolCall) -> ToolCall:
        """Allow a call if its tool cannot change anything, or another layer prevents changes.

        Raises ``ToolRefused``.
        """
        if not self._state.is_on:
            return call
        if reason := await self._refusal(call):
            raise ToolRefused(f"Plan mode is on: {reason}")
        if call.name == "task" and self._pi.settings.get("task.isolation.enabled") is not False:
            # A working copy would change the repository, and agents only read in plan mode.
            return replace(call, arguments=without_copies(call.arguments))
        return call

    async def _refusal(self, call: ToolCall) -> str:
        if call.name == "bash":
            return await self._command_refusal(call.arguments)
        if call.name in FILE_TOOLS:
            return self._write_refusal(call.arguments)
        if call.name in HARMLESS or self._pi.context.approval(call).tier == "read":
            return ""
        return (
            f"{call.name} may change something. Read with other tools, and describe in the plan"
            " what has to be done with it."
        )

    def _write_refusal(self, arguments: dict[str, object]) -> str:
        path = arguments.get("path")
        # Without a path, as in patches of other ``edit`` variants, the file layer decides.
        if isinstance(path, str) and not self._names_plan(path):
            return f"only the plan file can be written: {self._state.file}"
        return ""

    def _names_plan(self, path: str) -> bool:
        return self._pi.context.files.resolve(path) == self._state.file

    async def _command_refusal(self, arguments: dict[str, object]) -> str:
        command = str(arguments.get("command") or "")
        if await self.sandbox() is not None:
            return ""
        if arguments.get("env"):
            return "variables cannot be set for a command, because this machine has no sandbox."
        return _without_sandbox(command)

    # Files ----------------------------------------------------------------------------------------

    async def write(self, change: FileChange, write: FileWrite) -> FileWritten:
        """Allow writes to the plan file only. Raises ``ToolFailed`` for others."""
        if not self._state.is_on or self._is_plan(change):
            return await write(change)
        raise ToolFailed(
            f"{change.path} was not changed: plan mode is on, and only the plan file can be"
            f" written: {self._state.file}"
        )

    def _is_plan(self, change: FileChange) -> bool:
        file = self._state.file
        if change.path != file or change.after is None or change.mode is not None:
            return False
        # Not through a link, which could lead to a file of the project.
        if file.resolve() != file.parent.resolve() / file.name:
            return False
        return not file.exists() or file.stat().st_nlink == 1

    # Programs -------------------------------------------------------------------------------------

    async def spawn(self, request: SpawnRequest) -> SpawnRequest:
        """Run a program of the model in a read-only sandbox, or raise ``SpawnRefused``."""
        if not self._state.is_on or request.kind in OWN_PROGRAMS:
            return request
        if request.kind == KERNEL:
            raise SpawnRefused("Plan mode is on: no kernel is started.", hint="/plan off ends it.")
        if request.kind == AGENT:
            # The guard cannot restrict its tools and files, and in the sandbox it has no network to
            # reach its model.
            raise SpawnRefused(
                "Plan mode is on: an agent in a process of its own (PI_SUBPROCESS_CMD) is not"
                " started, because plan mode cannot restrict it.",
                hint="Unset PI_SUBPROCESS_CMD, or leave plan mode with /plan off.",
            )
        env = {**request.env, **ENVIRONMENT}
        support = await self.sandbox()
        if support is not None:
            scratch = await self._state.scratch()
            policy = self._policy(request.cwd, scratch)
            inside = sandboxed(request.arguments, policy, support)
            env |= dict.fromkeys(("TMPDIR", "TMP", "TEMP"), str(scratch))
            return replace(request, arguments=inside.arguments, env=env)
        if request.kind != "bash":
            raise SpawnRefused(f"Plan mode is on: {request.arguments[0]} is not started.")
        # Programs without a command line are helpers of pi, such as the one that reads the rc file.
        if request.command and (reason := _without_sandbox(request.command)):
            raise SpawnRefused(f"Plan mode is on: {reason}")
        return replace(request, env=env)

    async def covers(self, request: SpawnRequest) -> bool:
        """Whether ``spawn`` runs a program in a sandbox, so that others must not add theirs."""
        if not self._state.is_on or request.kind in (KERNEL, AGENT, *OWN_PROGRAMS):
            return False
        return await self.sandbox() is not None

    async def sandbox(self) -> SandboxSupport | None:
        """Return the sandbox of this machine; ``None`` if it cannot prevent writes."""
        async with self._probing:
            if self._support is None:
                self._support = await find_sandbox(self._pi.context.environ)
        try:
            sandboxed(("true",), self._policy(self._pi.context.cwd), self._support)
        except SandboxUnavailable:
            return None
        return self._support

    def _policy(self, cwd: Path, *writable: Path) -> SandboxPolicy:
        """A policy without network, credentials, sockets of others, and other writes."""
        ctx = self._pi.context
        home = Path(ctx.environ.get("HOME") or Path.home())
        hidden = (path for path in credential_paths(home, ctx.agent_dir) if path != cwd)
        unreadable = tuple(path for path in hidden if path not in cwd.parents)
        return SandboxPolicy(
            cwd=cwd, writable=writable, unreadable=unreadable, network=False, sockets=()
        )


def _without_sandbox(command: str) -> str:
    """Return why a command line is refused without a sandbox; empty if it only reads."""
    why = refusal(command)
    return why and (
        f"this command is refused, because {why}. This machine has no sandbox, so that only"
        " commands that are known to read can run: cat, ls, grep, rg, find, git log and the like,"
        " without redirections and substitutions."
    )


def without_copies(arguments: Json) -> Json:
    """Return the arguments of ``task`` so that no agent gets a working copy of its own.

    ``isolated`` is set explicitly, because the definition of an agent may enable it.
    """
    tasks = arguments.get("tasks")
    if not isinstance(tasks, list):
        return {**arguments, "isolated": False}
    shared_tasks = [
        {**task, "isolated": False} if isinstance(task, dict) else task for task in tasks
    ]
    return {**arguments, "tasks": shared_tasks}


ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",  # otherwise ``git status`` rewrites the index
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    # Not GIT_CONFIG_COUNT, which git 2.30 does not support. core.fsmonitor can name a program
    # that ``git status`` runs.
    "GIT_CONFIG_PARAMETERS": f"'core.fsmonitor=false' 'core.hooksPath={NULL}'",
}
"""Variables of every command in plan mode."""


def refusal(command: str) -> str:
    """Return why a command line may change something; empty if it only reads."""
    line = parse_command(command)
    if line.unresolved:
        return f"it is not known in advance what it runs ({line.unresolved[0]})"
    if line.has_substitutions:
        return "it contains a substitution"
    for part in line.parts:
        if reason := _part_problem(part):
            return reason
    return ""


def _part_problem(part: CommandPart) -> str:
    for redirection in part.redirections:
        if not _is_harmless(redirection):
            return f"it redirects to {redirection.target.raw or redirection.operator}"
    if part.assignments:
        return f"it sets {part.assignments[0].name}"
    return change_reason(part)


def _is_harmless(redirection: Redirection) -> bool:
    if redirection.target.literal == NULL:
        return True
    return redirection.operator in (">&", "<&") and not redirection.writes

"""The extended ``bash`` tool in a session (setting ``bash.extended``)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from pi.batteries.shell_session.command_lines import (
    DEFAULT_RULES,
    BashCall,
    CleanedCommand,
    InterceptionRule,
    clean_command,
    find_interception,
    minimise,
    rules_without_effect,
    strip_limits_at_end,
)
from pi.batteries.shell_session.runner import SessionRunner
from pi.batteries.shell_session.session import automation_environment
from pi.extension import (
    ExtensionAPI,
    ExtensionContext,
    Json,
    SessionStartEvent,
    SpawnRequest,
    Text,
    ToolContext,
    ToolFailed,
    ToolResult,
    replace,
    sanitise,
)

NO_TERMINAL = "PI_NO_PTY"
"""Variable that disables terminals for commands: ``1``."""
MIN_TIMEOUT_SECONDS, MAX_TIMEOUT_SECONDS = 1.0, 3600.0
"""Timeouts outside this range are clamped to it."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

SETTINGS: tuple[tuple[str, Any, Any, str], ...] = (
    ("bash.extended", bool, False, "run bash commands in one shell, with cwd, env and terminals"),
    ("bash.session", bool, True, "keep one shell for all commands of a session"),
    ("bash.rcSnapshot", bool, True, "give that shell the aliases and functions of the rc file"),
    ("bash.stripTrailingHeadTail", bool, True, "remove a trailing pipe to head or tail"),
    ("bash.minimizer.enabled", bool, True, "condense verbose output of commands that succeeded"),
    ("bashInterceptor.enabled", bool, False, "refuse commands for which there is a tool"),
    ("bashInterceptor.rules", tuple[InterceptionRule, ...], DEFAULT_RULES, "its rules"),
)

PARAMETERS: Json = {
    "timeout": {
        "type": "number",
        "description": "Seconds, 1 to 3600, after which the command is ended",
    },
    "env": {
        "type": "object",
        "additionalProperties": {"type": "string"},
        "description": "Variables for this command, for text that is hard to quote",
    },
    "cwd": {"type": "string", "description": "Folder to run this command in"},
    "pty": {
        "type": "boolean",
        "description": "Run in a terminal that the user sees and can type into",
    },
}
DESCRIPTION = (
    "Run a command with bash and get what it writes, standard output and errors together. Of a long"
    " output you see the end and the name of a file that holds all of it, so do not cut it yourself"
    " with head or tail. Use env for values that are hard to quote. You cannot type into a command,"
    " so use options that make programs ask no questions; with pty the user can. A process put into"
    " the background with & goes on after the call has returned."
)
IN_SESSION = (
    " All commands run in one shell: the working folder, variables and functions stay for the next"
    " command. cwd and env are for one command only."
)
IN_OWN_SHELL = " Every command has a new shell: use cwd instead of cd."


def extension(pi: ExtensionAPI) -> None:
    """Register settings and ``--no-pty``; wrap ``bash`` at session start if enabled."""
    pi.settings.declare_all(SETTINGS)
    no_pty = pi.flag("no-pty", description="Give no command of the model a terminal.")

    async def _intercept(params: Any, ctx: ToolContext, inner: Any) -> Any:
        refuse_intercepted(pi, params.command)
        return await inner(params, ctx)

    @pi.on("session_start")
    def start(event: SessionStartEvent, ctx: ExtensionContext) -> None:
        # Settings cannot be read before there is a session.
        if ctx.task.depth == 0:
            warn_of_rules(pi)
        if not pi.settings.get("bash.extended"):
            pi.wrap_tool("bash", _intercept)
            return
        bash = ExtendedBash(pi, terminals=lambda: not no_pty())
        text = DESCRIPTION + (IN_SESSION if pi.settings.get("bash.session") else IN_OWN_SHELL)
        # For permissions: where a search without a path takes place.
        pi.provide("shell-folder", bash)
        pi.wrap_tool("bash", bash.run, params=widen_parameters, description=lambda own: text)
        pi.wrap_spawn(bash.overridden, ["bash"], at="first")


def widen_parameters(schema: Json) -> Json:
    """The parameters of ``bash`` with those of the extended tool."""
    return {**schema, "properties": {**schema.get("properties", {}), **PARAMETERS}}


class _Override:
    """Folder and variables for the process that a call of the plain tool starts."""

    def __init__(self, cwd: Path | None, env: Mapping[str, str]) -> None:
        self.cwd = cwd
        self.env = env


_override: ContextVar[_Override | None] = ContextVar("folder and variables of a command")


class ExtendedBash:
    """The extended ``bash`` tool of one session."""

    def __init__(self, pi: ExtensionAPI, *, terminals: Any) -> None:
        self._pi = pi
        self._allows_terminals = terminals
        self._runner = SessionRunner(pi)

    @property
    def cwd(self) -> Path | None:
        """The folder in which the next command of the model starts; ``None`` for that of pi."""
        return self._runner.cwd

    async def run(self, params: Json, ctx: ToolContext, inner: Any) -> ToolResult:
        """Run a call of the model: in a terminal, in the shell of the session, or in its own."""
        if params.get("async") is True:
            raise ToolFailed("Jobs are switched off (async.enabled), so async cannot be used here.")
        call = self._call(params)
        try:
            result = await self._run(call, params, ctx, inner)
        except ToolFailed as error:
            raise _noting_removal(error, call) from error
        return _with_note(result, _removal_note(call))

    async def _run(self, call: BashCall, params: Json, ctx: ToolContext, inner: Any) -> ToolResult:
        if params.get("pty") is True and self._has_terminals():
            return await self._runner.run_in_terminal(call, ctx)
        uses_session = self._pi.settings.get("bash.session") and not ctx.background
        if uses_session and (session := await self._runner.open(call)) is not None:
            return await session.run(call, ctx, self._minimise_result)
        return await self._run_alone(call, ctx, inner)

    def overridden(self, request: SpawnRequest) -> SpawnRequest:
        """Spawn wrap: apply the folder and the variables of the running call."""
        override = _override.get(None)
        if override is None:
            return request
        env = {**request.env, **override.env}
        return replace(request, cwd=override.cwd or request.cwd, env=env)

    # Arguments ------------------------------------------------------------------------------------

    def _call(self, params: Json) -> BashCall:
        line = self._line(params)
        refuse_intercepted(self._pi, line.command)
        if "\0" in line.command:
            raise ToolFailed("The command contains a zero byte, which bash cannot run.")
        return BashCall(
            command=line.command,
            cwd=self._folder(line.cwd),
            env=_variables(params),
            timeout=_timeout(params),
            removed=line.removed,
        )

    def _line(self, params: Json) -> CleanedCommand:
        command, cwd = str(params["command"]), params.get("cwd")
        strip = bool(self._pi.settings.get("bash.stripTrailingHeadTail"))
        # In a session ``cd`` must take effect in the shell itself.
        if cwd is not None or self._pi.settings.get("bash.session"):
            line = strip_limits_at_end(command) if strip else CleanedCommand(command=command)
            return replace(line, cwd=cwd)
        return clean_command(command, strip_limits=strip)

    def _folder(self, cwd: str | None) -> Path | None:
        if cwd is None:
            return None
        folder = self._pi.context.files.resolve(cwd)
        if not folder.exists():
            raise ToolFailed(f"Working directory does not exist: {folder}")
        if not folder.is_dir():
            raise ToolFailed(f"Working directory is not a directory: {folder}")
        return folder

    def _has_terminals(self) -> bool:
        context = self._pi.context
        disabled = context.environ.get(NO_TERMINAL) == "1" or not self._allows_terminals()
        return context.mode == "tui" and not disabled and self._runner.has_terminals

    # A shell for one command ----------------------------------------------------------------------

    async def _run_alone(self, call: BashCall, ctx: ToolContext, inner: Any) -> ToolResult:
        """Run in a shell of its own, from the folder of the session."""
        plain: Json = {"command": call.command}
        if call.timeout is not None:
            plain["timeout"] = call.timeout
        env = {**automation_environment(self._pi.context.environ), **call.env}
        with _overriding(_Override(call.cwd or self._runner.cwd, env)):
            try:
                result: ToolResult = await inner(plain, ctx)
            except ToolFailed as error:
                raise _with_exit_code(error) from error
        text = "".join(block.text for block in result.content if isinstance(block, Text))
        return self._minimise_result(call, result, text)

    def _minimise_result(self, call: BashCall, result: ToolResult, output: str) -> ToolResult:
        """The result with condensed output; the original becomes an artifact."""
        if not self._pi.settings.get("bash.minimizer.enabled"):
            return result
        details = result.details if isinstance(result.details, dict) else {}
        if "truncation" in details and details.get("artifactId") is None:
            return result  # ``output`` is not complete
        short = minimise(call.command, output, exit_code=0)
        if short is None:
            return result
        number = details.get("artifactId")
        if number is None:
            number = self._pi.context.artifacts.save("bash-original", sanitise(output))
        return ToolResult.of(
            f"{short}\n[raw output: artifact://{number}]",
            details={**details, "minimized": {"artifactId": number, "bytes": len(output.encode())}},
        )


def refuse_intercepted(pi: ExtensionAPI, command: str) -> None:
    """Raise ``ToolFailed`` for a command for which the model has a tool, if that is switched on."""
    if not pi.settings.get("bashInterceptor.enabled"):
        return
    rules = pi.settings.get("bashInterceptor.rules")
    if refusal := find_interception(command, rules, pi.get_active_tools()):
        raise ToolFailed(refusal)


def warn_of_rules(pi: ExtensionAPI) -> None:
    """Name the settings of the interceptor that have no effect."""
    rules = pi.settings.get("bashInterceptor.rules")
    if not pi.settings.get("bashInterceptor.enabled"):
        if rules != DEFAULT_RULES:
            message = "bashInterceptor.rules has no effect: bashInterceptor.enabled is not set."
            pi.warn(message)
        return
    if rules == DEFAULT_RULES:
        return
    for _, reason in rules_without_effect(rules, {tool.name for tool in pi.get_all_tools()}):
        message = f"A rule of bashInterceptor.rules has no effect: {reason}."
        pi.warn(message)


def _removal_note(call: BashCall) -> str:
    if not call.removed:
        return ""
    return (
        f"[`| {call.removed}` was not run: long output is cut by the tool, which keeps all of it.]"
    )


def _with_note(result: ToolResult, note: str) -> ToolResult:
    """The result with a note after its text."""
    if not note:
        return result
    text = "".join(block.text for block in result.content if isinstance(block, Text))
    return ToolResult.of(f"{text.rstrip()}\n\n{note}", details=result.details)


def _noting_removal(error: ToolFailed, call: BashCall) -> ToolFailed:
    note = _removal_note(call)
    return ToolFailed(f"{error.message}\n\n{note}", details=error.details) if note else error


@contextmanager
def _overriding(override: _Override) -> Iterator[None]:
    token = _override.set(override)
    try:
        yield
    finally:
        _override.reset(token)


def _with_exit_code(error: ToolFailed) -> ToolFailed:
    """The failure of the plain tool with the exit code in its details."""
    match = re.search(r"\n\nCommand exited with code (-?\d+)\Z", error.message)
    return ToolFailed(error.message, details={"exitCode": int(match[1])}) if match else error


def _variables(params: Json) -> dict[str, str]:
    variables: dict[str, str] = params.get("env") or {}
    for name in variables:
        if not _NAME.fullmatch(name):
            raise ToolFailed(f"{name!r} cannot be the name of a variable: use letters, digits, _.")
    return variables


def _timeout(params: Json) -> float | None:
    seconds = params.get("timeout")
    if seconds is None:
        return None
    if not math.isfinite(seconds):
        raise ToolFailed(f"Invalid timeout {seconds:g}: give seconds, 1 to 3600, or leave it out.")
    return min(max(float(seconds), MIN_TIMEOUT_SECONDS), MAX_TIMEOUT_SECONDS)

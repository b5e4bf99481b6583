"""Prevents changes in plan mode: tool calls, file writes and programs.

There are three layers, because each covers cases that the others miss: tool calls by their
declaration, files when they are written, programs when they start. Nested sessions inherit all
three. Without a sandbox, only command lines that are known to read are started.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from pi.extension import (
    CommandPart,
    CommandWord,
    ExtensionAPI,
    FileChange,
    FileWrite,
    FileWritten,
    Json,
    Policy,
    Record,
    Redirection,
    SandboxPolicy,
    SandboxSupport,
    SandboxUnavailable,
    SpawnRefused,
    SpawnRequest,
    ToolCall,
    ToolFailed,
    ToolRefused,
    find_sandbox,
    parse_command,
    replace,
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
            inside = sandboxed(request.arguments, _policy(request.cwd, scratch), support)
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
            sandboxed(("true",), _policy(self._pi.context.cwd), self._support)
        except SandboxUnavailable:
            return None
        return self._support


def _policy(cwd: Path, *writable: Path) -> SandboxPolicy:
    """A policy without network, sockets of other programs, and writes except to ``writable``."""
    return SandboxPolicy(cwd=cwd, writable=writable, network=False, sockets=False)


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
    each = [{**task, "isolated": False} if isinstance(task, dict) else task for task in tasks]
    return {**arguments, "tasks": each}


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PLAIN = _names(
    "cat head wc stat ls du df pwd echo printf test [ true false : cd which type basename"
    " dirname realpath readlink grep egrep fgrep diff cmp comm cut tr nl od fold paste join tac rev"
    " column strings expand unexpand md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum"
    " cksum uname id whoami groups nproc free uptime arch ps jq tail seq"
)
"""Programs that change nothing with any arguments."""


class _Reader(Record):
    """A program that changes nothing unless one of these options is used."""

    long: tuple[str, ...] = ()
    """Long options; unambiguous prefixes count, because programs accept them."""
    short: str = ""
    """Letters of short options; a cluster such as ``-uo`` counts as well."""


_READERS: dict[str, _Reader] = {
    "sort": _Reader(long=("--output", "--compress-program", "--temporary-directory"), short="oT"),
    "rg": _Reader(long=("--pre", "--hostname-bin")),
    "tree": _Reader(long=("--output",), short="oR"),
    "file": _Reader(long=("--compile",), short="C"),
}
_FIND_ACTIONS = (
    "-delete", "-exec", "-execdir", "-ok", "-okdir", "-fprint", "-fprint0", "-fprintf", "-fls"
)  # fmt: skip
_SED_PRINT = re.compile(r"\d+(?:,(?:\d+|\$))?p|\$p")
"""The only scripts of ``sed -n`` that are allowed: other commands of sed write files."""

_GIT_READERS = _names(
    "status log show diff blame annotate ls-files ls-tree rev-parse rev-list describe shortlog"
    " grep cat-file name-rev merge-base for-each-ref show-ref diff-tree diff-index diff-files"
    " count-objects whatchanged range-diff cherry show-branch check-ignore check-attr"
)
_GIT_LISTS: dict[str, frozenset[str]] = {
    "branch": frozenset({"-a", "-r", "-v", "-vv", "--all", "--list", "--show-current"}),
    "tag": frozenset({"-l", "-n", "--list"}),
    "remote": frozenset({"-v", "--verbose"}),
    "stash": frozenset({"list"}),
    "worktree": frozenset({"list"}),
    "submodule": frozenset({"status"}),
}
"""Git commands that only read if all their arguments are in this set."""
_GIT_WRITING = _Reader(
    long=("--output", "--ext-diff", "--textconv", "--open-files-in-pager", "--filters"), short="O"
)
_GIT_GLOBAL = frozenset({"--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs"})

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
        if problem := _part_problem(part):
            return problem
    return ""


def _part_problem(part: CommandPart) -> str:
    for each in part.redirections:
        if not _is_harmless(each):
            return f"it redirects to {each.target.raw or each.operator}"
    if part.assignments:
        return f"it sets {part.assignments[0].name}"
    if part.more_arguments:
        return "arguments are added at run time"
    if not part.words:
        return ""
    name = part.name or ""
    for word in part.arguments:
        if not set(word.expands) <= {"glob", "tilde"}:
            return f"the value of {word.raw} is not known in advance"
    return _program_problem(name, part.arguments)


def _is_harmless(redirection: Redirection) -> bool:
    if redirection.target.literal == NULL:
        return True
    return redirection.operator in (">&", "<&") and not redirection.writes


def _program_problem(name: str, words: Sequence[CommandWord]) -> str:
    if name in _PLAIN:
        return ""
    if name in _READERS:
        return _option_problem(name, words, _READERS[name])
    if name in _CHECKED:
        return _CHECKED[name](words)
    return f"{name} is not in the list of commands that only read"


def _option_problem(name: str, words: Sequence[CommandWord], reader: _Reader) -> str:
    """Return the problem of an option that writes; expansions may become options as well."""
    for word in words:
        text = word.literal
        if text is None:
            if word.may_be_option:
                return f"{word.raw} may become an option of {name}"
            continue
        if text.startswith("--"):
            option = text.partition("=")[0]
            if len(option) > 2 and any(each.startswith(option) for each in reader.long):
                return f"{name} {option} writes or runs programs"
        elif text.startswith("-") and set(reader.short) & set(text[1:]):
            return f"{name} {text} writes"
    return ""


def _find_problem(words: Sequence[CommandWord]) -> str:
    for word in words:
        text = word.literal
        if text is None and word.may_be_option:
            return f"{word.raw} may become an option of find"
        if text in _FIND_ACTIONS:
            return f"find {text} changes files or runs programs"
    return ""


def _date_problem(words: Sequence[CommandWord]) -> str:
    """Allow only ``-u`` and formats: a number or ``-s`` sets the clock."""
    texts = [word.literal or "" for word in words]
    if all(text == "-u" or text.startswith("+") for text in texts):
        return ""
    return "date may set the clock"


def _uniq_problem(words: Sequence[CommandWord]) -> str:
    files = [word for word in words if not (word.literal or "").startswith("-")]
    if len(files) > 1 or any(word.literal is None for word in words):
        return "the second file of uniq is written"
    return ""


def _sed_problem(words: Sequence[CommandWord]) -> str:
    texts = [word.literal for word in words]
    if texts[:1] != ["-n"] or len(texts) < 2 or not _SED_PRINT.fullmatch(texts[1] or ""):
        return "only `sed -n 'A,Bp'` is known to read"
    if any(word.may_be_option for word in words[2:]):
        return "sed has further options"
    return ""


def _hostname_problem(words: Sequence[CommandWord]) -> str:
    return "hostname has arguments" if words else ""


def _git_problem(words: Sequence[CommandWord]) -> str:
    rest = list(words)
    while rest and (rest[0].literal or "").startswith("-"):
        option = rest.pop(0).literal
        if option == "-C" and rest:
            rest.pop(0)
        elif option not in _GIT_GLOBAL:
            return f"git {option} may run programs"
    if not rest:
        return ""
    command, arguments = rest[0].literal or rest[0].raw, rest[1:]
    if command in _GIT_READERS:
        return _option_problem(f"git {command}", arguments, _GIT_WRITING)
    return _git_list_problem(command, arguments)


def _git_list_problem(command: str, arguments: Sequence[CommandWord]) -> str:
    known = _GIT_LISTS.get(command, frozenset())
    needs_word = command in ("stash", "worktree", "submodule")
    if not known or (needs_word and not arguments):
        return f"git {command} is not known to only read"
    for word in arguments:
        if word.literal not in known:
            return f"git {command} {word.raw} may change the repository"
    return ""


_CHECKED: dict[str, Callable[[Sequence[CommandWord]], str]] = {
    "find": _find_problem,
    "uniq": _uniq_problem,
    "sed": _sed_problem,
    "date": _date_problem,
    "hostname": _hostname_problem,
    "git": _git_problem,
}
"""Checks of programs that write with some arguments."""

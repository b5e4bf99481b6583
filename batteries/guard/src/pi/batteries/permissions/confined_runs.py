"""Runs tests, checks and builds of the project in a sandbox, so that they need no question.

They run code that the model may have written. In ``auto-edit`` the user has agreed to changes of
the project; in the sandbox such a run can change nothing else, reads no credentials of the user and
reaches no network. Where there is no sandbox, the user is asked.
"""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import mkdtemp

from pi.batteries.permissions.requests import Decision, ToolRequest
from pi.extension import (
    ExtensionAPI,
    ExtensionContext,
    Record,
    SpawnRefused,
    SpawnRequest,
    Text,
    ToolResultAnswer,
    ToolResultEvent,
    replace,
)
from pi.extension.guards import (
    SandboxedCommand,
    SandboxPolicy,
    SandboxSupport,
    SandboxUnavailable,
    credential_paths,
    find_sandbox,
    project_policy,
    sandboxed,
)

NOTE = (
    "[This ran in a sandbox, without network and credentials, and with changes of the project only:"
    " tests need no consent there. If it needs more, call it again; the user is then asked.]"
)
_STOPPED = re.compile(
    r"(?i)read-only file system|permission denied|operation not permitted|access denied"
    r"|network is unreachable|name or service not known|name resolution|could not resolve"
    r"|getaddrinfo|connection refused|no route to host|nodename nor servname"
    r"|\b(?:EROFS|EACCES|EPERM|EAI_AGAIN|ENOTFOUND|ECONNREFUSED|ENETUNREACH)\b"
)
"""Messages of programs that the sandbox has stopped."""


_INPUTS = frozenset({"command", "timeout", "cwd", "env", "head", "tail"})
"""Arguments of calls that can run in the sandbox: it must start before the call ends."""


class _Run(Record):
    """One command that runs in the sandbox."""

    root: Path
    """The folder that it may change."""
    grants: tuple[str, ...]
    """Rules that would allow it without the sandbox."""


class ConfinedRuns:
    """The commands of one session that run in a sandbox instead of a question."""

    def __init__(self, pi: ExtensionAPI, running: Mapping[str, ToolRequest]) -> None:
        self._pi = pi
        self._running = running
        """The calls that were allowed, by id."""
        self._runs: dict[tuple[str, str], _Run] = {}
        """By call and command: sub-agents may use the same ids at the same time."""
        self._outgrown: set[tuple[str, ...]] = set()
        """Rules about commands that need more than the sandbox allows."""
        self._unprotected: dict[Path, None] = {}
        """Protected paths that did not exist when a run started."""
        self._folder: Path | None = None
        self._support: SandboxSupport | None = None
        self._probing = asyncio.Lock()

    async def accept(self, call_id: str, request: ToolRequest, decision: Decision) -> bool:
        """Let a call run in the sandbox, if it can. Returns whether it does."""
        root = Path(request.effects.cwd)
        if (
            decision.grants in self._outgrown
            or not set(request.input) <= _INPUTS
            or not await self._is_possible(root)
        ):
            return False
        run = _Run(root=root, grants=decision.grants)
        self._runs[call_id, request.command or ""] = run
        return True

    def release(self, call_id: str, request: ToolRequest) -> None:
        """Let a call that the user or a rule has allowed run outside of the sandbox."""
        self._runs.pop((call_id, request.command or ""), None)

    async def _is_possible(self, root: Path) -> bool:
        if self._pi.settings.get("sandbox.enabled") is True:
            return False  # sandboxes cannot be nested
        if self._home.is_relative_to(root.resolve()):
            return False  # everything of the user is inside of such a project
        try:
            await self._sandboxed(("true",), root, root)
        except SandboxUnavailable:
            return False
        return True

    async def wrap(self, request: SpawnRequest) -> SpawnRequest:
        """Spawn wrap: start the program in the sandbox if its call runs there."""
        run = self._find_run(request)
        if run is None:
            return request
        # A stricter sandbox, as in plan mode, takes precedence.
        other = self._pi.service("command-sandbox")
        if other is not None and await other.covers(request):
            return request
        try:
            inside = await self._sandboxed(request.arguments, run.root, request.cwd)
        except SandboxUnavailable as error:
            raise SpawnRefused(error.message, hint=error.hint) from error
        self._unprotected |= dict.fromkeys(inside.unprotected)
        folder = self._temporary_folder()
        # Go needs a cache; the usual one is in the home folder.
        env = {**request.env, "TMPDIR": str(folder), "GOCACHE": str(folder / "go-build")}
        return replace(request, arguments=inside.arguments, env=env)

    def _find_run(self, request: SpawnRequest) -> _Run | None:
        if run := self._runs.get((request.call_id, request.command)):
            return run
        allowed = self._running.get(request.call_id)
        if allowed is None or allowed.command == request.command:
            return None
        # The command is not the one that was allowed: it runs as strictly as any of its call.
        return next((run for key, run in self._runs.items() if key[0] == request.call_id), None)

    async def _sandboxed(
        self, arguments: tuple[str, ...], root: Path, cwd: Path
    ) -> SandboxedCommand:
        """Return the command line in the sandbox. Raises ``SandboxUnavailable``."""
        async with self._probing:
            if self._support is None:
                self._support = await find_sandbox(self._pi.context.environ)
        return sandboxed(arguments, self._policy(root, cwd), self._support)

    def _policy(self, root: Path, cwd: Path) -> SandboxPolicy:
        agent_dir = self._pi.context.agent_dir
        temporary = (self._temporary_folder(),)
        policy = project_policy(root, home=self._home, agent_dir=agent_dir, temporary=temporary)
        credentials = credential_paths(self._home, agent_dir)
        # A project inside of such a folder, such as a copy for an agent, stays readable.
        unreadable = tuple(path for path in credentials if not root.is_relative_to(path))
        return replace(policy, cwd=cwd, unreadable=unreadable, sockets=())

    @property
    def _home(self) -> Path:
        return Path(self._pi.context.environ.get("HOME") or Path.home()).resolve()

    def _temporary_folder(self) -> Path:
        """A temporary folder for these runs alone: in the usual one there are files of others."""
        if self._folder is None:
            parent = self._pi.context.environ.get("TMPDIR") or "/tmp"
            self._folder = Path(mkdtemp(prefix="pi-tests-", dir=parent))
            self._pi.scope.on_close(self._remove_folder)
        return self._folder

    async def _remove_folder(self) -> None:
        if self._folder is not None:
            await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)

    # Results --------------------------------------------------------------------------------------

    def result(self, event: ToolResultEvent, ctx: ExtensionContext) -> ToolResultAnswer | None:
        """Explain a failure that the sandbox has caused; report what it could not prevent."""
        run = self._runs.get((event.tool_call_id, str(event.input.get("command"))))
        if run is None:
            return None
        notes = [*self._report_created()]
        text = "".join(block.text for block in event.content if isinstance(block, Text))
        if event.is_error and _STOPPED.search(text):
            self._outgrown.add(run.grants)
            notes.append(NOTE)
        if not notes:
            return None
        return ToolResultAnswer(content=(*event.content, *(Text(text=note) for note in notes)))

    def _report_created(self) -> Iterator[str]:
        created = [path for path in self._unprotected if path.exists()]
        self._unprotected.clear()
        if created:
            names = ", ".join(map(str, created))
            warning = f"A test run created {names}, which runs commands later. Look at it before"
            warning += " you go on."
            self._pi.warn(warning, kind="warning")
            yield f"[{names} is protected: the user was informed that it was created.]"

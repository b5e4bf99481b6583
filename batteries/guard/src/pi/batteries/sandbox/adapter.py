"""Connects the sandbox of pi to a session: every program is started in it, or refused.

Nested sessions inherit the wrap, so this battery is not loaded in them.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from pi.batteries.sandbox.network import ALL_HOSTS, SandboxNetwork
from pi.extension import (
    CommandContext,
    ExtensionAPI,
    ExtensionContext,
    PiError,
    SessionStartEvent,
    SpawnRefused,
    SpawnRequest,
    Text,
    ToolResultAnswer,
    ToolResultEvent,
    replace,
)
from pi.extension.guards import (
    SandboxPolicy,
    SandboxSupport,
    SandboxUnavailable,
    credential_paths,
    find_sandbox,
    project_policy,
    sandboxed,
)

OUTSIDE = ("user", "extension", "mcp", "lsp", "browser", "matcher", "ssh")
"""Kinds of programs that run outside: of the user, of pi, and servers that need the network."""
SETTINGS: tuple[tuple[str, Any, Any, str], ...] = (
    ("sandbox.enabled", bool, False, "run commands in a sandbox"),
    ("sandbox.network", bool, False, "let sandboxed commands use the network"),
    ("sandbox.allowHosts", tuple[str, ...], (ALL_HOSTS,), "the only hosts that can be reached"),
    ("sandbox.readable", tuple[str, ...], (), "credentials that commands may read"),
    ("sandbox.writable", tuple[str, ...], (), "further folders that commands may change"),
    ("sandbox.exclude", tuple[str, ...], OUTSIDE, "kinds of programs that run outside"),
)


def extension(pi: ExtensionAPI) -> None:
    """Register the spawn wrap, the event handlers and ``/sandbox``."""
    pi.settings.declare_all(SETTINGS)
    sandbox = Sandbox(pi)
    pi.on("session_start", sandbox.start)
    pi.on("tool_result", sandbox.result)
    # Last: programs that other extensions wrap around a command run in the sandbox, too.
    pi.wrap_spawn(sandbox.wrap, at="last")
    # For permissions: what a sandboxed command cannot change needs no question.
    pi.provide("sandbox", sandbox)
    pi.register_command("sandbox", sandbox.command, description="show what commands may do")


class Sandbox:
    """The sandbox of one session."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi
        self._support: SandboxSupport | None = None
        self._network = SandboxNetwork(pi)
        self._probing = asyncio.Lock()
        self._unprotected: dict[Path, None] = {}
        """Protected paths that did not exist when a command started."""
        self._resolved: dict[Path, Path] = {}
        """Paths of settings without links, as they were when they were used first."""

    @property
    def _is_on(self) -> bool:
        return self._pi.settings.get("sandbox.enabled") is True

    @property
    def is_confining(self) -> bool:
        """Whether commands of the model run in a sandbox without network, or not at all."""
        is_outside = "bash" in self._pi.settings.get("sandbox.exclude")
        return self._is_on and self._network.is_off and not is_outside

    async def start(self, event: SessionStartEvent, ctx: ExtensionContext) -> None:
        """Detect the sandbox of this machine in the background."""
        if self._is_on:
            ctx.ui.set_fact("sandbox", "on")
            self._pi.scope.spawn(self._announce(ctx), name="sandbox probe")

    async def _announce(self, ctx: ExtensionContext) -> None:
        support = await self._find()
        reason = self._problem(support)
        if reason:
            ctx.ui.set_fact("sandbox", "unavailable")
            self._pi.warn(f"Commands are refused: {reason}")
        else:
            network = "no network" if self._network.is_off else "network"
            hosts = "some hosts" if self._network.is_limited else network
            ctx.ui.set_fact("sandbox", f"{support.mechanism}, {hosts}")

    async def _find(self) -> SandboxSupport:
        async with self._probing:
            if self._support is None:
                self._support = await find_sandbox(self._pi.context.environ)
            return self._support

    def _policy(self, cwd: Path) -> SandboxPolicy:
        ctx = self._pi.context
        # From pi's own environment: a command must not choose its temporary folder.
        temporary = Path(ctx.environ.get("TMPDIR") or "/tmp")
        also = self._paths("sandbox.writable")
        readable = self._paths("sandbox.readable")
        policy = project_policy(
            ctx.cwd,
            home=self._home,
            agent_dir=self._agent_dir,
            temporary=(temporary,),
            also=also,
            network=self._network.is_open,
        )
        unreadable = tuple(self._unreadable(policy.writable, readable))
        return replace(policy, cwd=cwd, unreadable=unreadable, sockets=(ctx.cwd, *also, *readable))

    def _paths(self, name: str) -> tuple[Path, ...]:
        """Return the paths of a setting, as they led when they were used first.

        A command could replace one in a writable folder by a link, to get another folder.
        """
        paths = []
        for text in self._pi.settings.get(name):
            named = text.replace("~", str(self._home), 1) if text.startswith("~") else text
            path = self._pi.context.cwd / named
            real = self._resolved.setdefault(path, path.resolve())
            if real.resolve() == real:
                paths.append(real)
        return tuple(paths)

    @cached_property
    def _home(self) -> Path:
        return Path(self._pi.context.environ.get("HOME") or Path.home()).resolve()

    @cached_property
    def _agent_dir(self) -> Path:
        return self._pi.context.agent_dir

    @cached_property
    def _secret_paths(self) -> tuple[str, ...]:
        """Where credentials may be. As text, because each command looks at these sixty names."""
        servers = _server_folders(self._pi.context.environ)
        return tuple(map(str, (*credential_paths(self._home, self._agent_dir), *servers)))

    def _unreadable(self, writable: Sequence[Path], readable: Sequence[Path]) -> Iterator[Path]:
        """The credentials that commands must not read, and the folders of the user's servers."""
        real = map(os.path.realpath, writable)
        home = str(self._home)
        # A folder with the whole home folder does not name its credentials.
        used = [path for path in real if not _is_within(home, path)]
        allowed = [*used, *map(str, readable)]
        for path in filter(os.path.exists, self._secret_paths):
            yield from map(Path, _without(path, allowed))

    def _problem(self, support: SandboxSupport) -> str:
        try:
            sandboxed(("true",), self._policy(self._pi.context.cwd), support)
        except SandboxUnavailable as error:
            return error.message
        return ""

    # Programs -------------------------------------------------------------------------------------

    async def wrap(self, request: SpawnRequest) -> SpawnRequest:
        """Spawn wrap: start the program in the sandbox. Raises ``SpawnRefused`` without one."""
        if not self._is_on or request.kind in self._pi.settings.get("sandbox.exclude"):
            return request
        # Sandboxes cannot be nested: a stricter one, as in plan mode, takes precedence.
        other = self._pi.service("command-sandbox")
        if other is not None and await other.covers(request):
            return request
        policy = replace(self._policy(request.cwd), proxy=await self._network.proxy())
        try:
            inside = sandboxed(request.arguments, policy, await self._find())
        except SandboxUnavailable as error:
            raise SpawnRefused(error.message, hint=error.hint) from error
        self._unprotected |= dict.fromkeys(inside.unprotected)
        env = {**request.env, **self._network.variables()}
        return replace(request, arguments=inside.arguments, env=env)

    def result(self, event: ToolResultEvent, ctx: ExtensionContext) -> ToolResultAnswer | None:
        """Report protected files that a command has created, which the sandbox cannot prevent."""
        created = [path for path in self._unprotected if os.path.exists(path)]  # noqa: PTH110
        if not created:
            return None
        for path in created:
            del self._unprotected[path]
        names = ", ".join(map(str, created))
        warning = f"A sandboxed command created {names}, which runs commands later. Look at it"
        warning += " before you go on."
        self._pi.warn(warning, kind="warning")
        note = Text(text=f"[{names} is protected: the user was informed that it was created.]")
        return ToolResultAnswer(content=(*event.content, note))

    # ``/sandbox`` ---------------------------------------------------------------------------------

    async def command(self, arguments: str, ctx: CommandContext) -> None:
        """Show the limits of the sandbox, also while it is off."""
        if arguments:
            raise PiError(
                "/sandbox takes no arguments.", hint="sandbox.enabled in /settings switches it."
            )
        support = await self._find()
        ctx.write("\n".join(self._report(support)) + "\n")

    def _shown(self, path: Path) -> str:
        cwd = self._pi.context.cwd
        return str(path.relative_to(cwd)) if path.is_relative_to(cwd) else str(path)

    def _report(self, support: SandboxSupport) -> Iterator[str]:
        yield "Sandbox: on" if self._is_on else "Sandbox: off (set sandbox.enabled)"
        yield f"This machine: {support.mechanism}. {support.reason}".rstrip(". ")
        policy = self._policy(self._pi.context.cwd)
        if reason := self._problem(support):
            yield f"Commands {'are' if self._is_on else 'would be'} refused: {reason}"
        yield f"Network: {self._network.description}"
        yield f"Writable: {', '.join(map(str, policy.writable))}"
        yield f"Read-only inside: {', '.join(self._shown(path) for path in policy.protected)}"
        hidden = [path for path in policy.unreadable if path.exists()]
        yield f"Not readable: {', '.join(map(str, hidden)) or 'none of these exist here'}"
        sockets = ", ".join(self._shown(path) for path in policy.sockets)
        yield f"Sockets of other programs: only those in {sockets}; others are hidden"
        if not support.separates_processes:
            yield "Processes: commands see those outside (this kernel separates none)"
        yield f"Not in the sandbox: {', '.join(self._pi.settings.get('sandbox.exclude'))}"


def _server_folders(environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield where servers of the user listen that may also start after a command."""
    if sys.platform == "win32":
        return
    user = os.getuid()
    yield Path(environ.get("XDG_RUNTIME_DIR") or f"/run/user/{user}")
    yield Path(environ.get("TMUX_TMPDIR") or "/tmp", f"tmux-{user}")


def _without(path: str, allowed: Sequence[str]) -> Iterator[str]:
    """Yield a path, or what is in it if something in it is allowed."""
    real = os.path.realpath(path)
    if any(_is_within(real, root) for root in allowed):
        return
    if not any(_is_within(root, real) for root in allowed) or not Path(path).is_dir():
        yield path
        return
    for inner in Path(path).iterdir():
        yield from _without(str(inner), allowed)


def _is_within(path: str, root: str) -> bool:
    return f"{path}/".startswith(f"{root.rstrip('/')}/")

"""Connects the sandbox of pi to a session: every program is started in it, or refused.

Nested sessions inherit the wrap, so this battery is not loaded in them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pi.extension import (
    CommandContext,
    ExtensionAPI,
    ExtensionContext,
    SandboxPolicy,
    SandboxSupport,
    SandboxUnavailable,
    SessionStartEvent,
    SpawnRefused,
    SpawnRequest,
    Text,
    ToolResultAnswer,
    ToolResultEvent,
    find_sandbox,
    project_policy,
    replace,
    sandboxed,
)

OUTSIDE = ("user", "extension", "mcp", "lsp", "browser", "matcher", "ssh")
"""Kinds of programs that run outside: of the user, of pi, and servers that need the network."""
SETTINGS: tuple[tuple[str, Any, Any, str], ...] = (
    ("sandbox.enabled", bool, False, "run commands in a sandbox"),
    ("sandbox.network", bool, False, "let sandboxed commands use the network"),
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
        self._probing = asyncio.Lock()
        self._unprotected: dict[Path, None] = {}
        """Protected paths that did not exist when a command started."""

    @property
    def _is_on(self) -> bool:
        return self._pi.settings.get("sandbox.enabled") is True

    @property
    def is_confining(self) -> bool:
        """Whether commands of the model run in a sandbox without network, or not at all."""
        get = self._pi.settings.get
        return self._is_on and not get("sandbox.network") and "bash" not in get("sandbox.exclude")

    async def start(self, event: SessionStartEvent, ctx: ExtensionContext) -> None:
        """Detect the sandbox of this machine in the background."""
        if self._is_on:
            ctx.ui.set_fact("sandbox", "on")
            self._pi.scope.spawn(self._announce(ctx), name="sandbox probe")

    async def _announce(self, ctx: ExtensionContext) -> None:
        support = await self._find()
        problem = self._problem(support)
        if problem:
            ctx.ui.set_fact("sandbox", "unavailable")
            self._pi.warn(f"Commands are refused: {problem}")
        else:
            network = "network" if self._pi.settings.get("sandbox.network") else "no network"
            ctx.ui.set_fact("sandbox", f"{support.mechanism}, {network}")

    async def _find(self) -> SandboxSupport:
        async with self._probing:
            if self._support is None:
                self._support = await find_sandbox(self._pi.context.environ)
            return self._support

    def _policy(self, cwd: Path) -> SandboxPolicy:
        ctx, get = self._pi.context, self._pi.settings.get
        # From pi's own environment: a command must not choose its temporary folder.
        temporary = Path(ctx.environ.get("TMPDIR") or "/tmp")
        home = ctx.environ.get("HOME") or "~"
        also = [
            Path(path.replace("~", home, 1) if path.startswith("~") else path)
            for path in get("sandbox.writable")
        ]
        policy = project_policy(
            ctx.cwd,
            temporary=(temporary,),
            also=tuple(ctx.cwd / path for path in also),
            network=get("sandbox.network"),
        )
        return replace(policy, cwd=cwd)

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
        try:
            inside = sandboxed(request.arguments, self._policy(request.cwd), await self._find())
        except SandboxUnavailable as error:
            raise SpawnRefused(error.message, hint=error.hint) from error
        self._unprotected |= dict.fromkeys(inside.unprotected)
        return replace(request, arguments=inside.arguments)

    def result(self, event: ToolResultEvent, ctx: ExtensionContext) -> ToolResultAnswer | None:
        """Report protected files that a command has created, which the sandbox cannot prevent."""
        created = [path for path in self._unprotected if path.exists()]
        if not created:
            return None
        for path in created:
            del self._unprotected[path]
        names = ", ".join(map(str, created))
        ctx.ui.notify(
            f"A sandboxed command created {names}, which runs commands later. Look at it"
            " before you go on.",
            "warning",
        )
        note = Text(text=f"[{names} is protected: the user was informed that it was created.]")
        return ToolResultAnswer(content=(*event.content, note))

    # ``/sandbox`` ---------------------------------------------------------------------------------

    async def command(self, arguments: str, ctx: CommandContext) -> None:
        """Show the limits of the sandbox, also while it is off."""
        support = await self._find()
        ctx.write("\n".join(self._report(support)) + "\n")

    def _shown(self, path: Path) -> str:
        cwd = self._pi.context.cwd
        return str(path.relative_to(cwd)) if path.is_relative_to(cwd) else str(path)

    def _report(self, support: SandboxSupport) -> Iterator[str]:
        yield "Sandbox: on" if self._is_on else "Sandbox: off (set sandbox.enabled)"
        yield f"This machine: {support.mechanism}. {support.reason}".rstrip(". ")
        policy = self._policy(self._pi.context.cwd)
        if problem := self._problem(support):
            yield f"Commands {'are' if self._is_on else 'would be'} refused: {problem}"
        yield f"Network: {'allowed' if policy.network else 'off'}"
        yield f"Writable: {', '.join(map(str, policy.writable))}"
        yield f"Read-only inside: {', '.join(self._shown(path) for path in policy.protected)}"
        yield f"Not in the sandbox: {', '.join(self._pi.settings.get('sandbox.exclude'))}"

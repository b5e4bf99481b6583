"""Values of definitions: ``${VAR}``, ``${VAR:-default}`` and ``!command``.

Variables that look like credentials are not expanded in files of a project: its author also chooses
the address that would receive them.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TypeAlias

from pi.batteries.mcp.definitions import Configured, Definition
from pi.batteries.mcp.protocol import McpError
from pi.extension import replace

RunCommand: TypeAlias = Callable[[str], Awaitable[str]]
"""Runs a shell command and returns what it prints. Raises ``McpError``."""

_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_CREDENTIAL = re.compile(
    r"(?i)key|token|secret|passw|passphrase|credential|auth|cookie|session|private|(^|_)pat($|_)"
)
COMMAND_SECONDS = 10.0


class Values:
    """Expands the values of one definition."""

    def __init__(
        self,
        configured: Configured,
        *,
        environ: Mapping[str, str],
        cwd: Path,
        run: RunCommand,
    ) -> None:
        self._configured = configured
        self._environ = environ
        self._cwd = cwd
        self._run = run

    async def definition(self) -> Definition:
        """The definition with all values expanded. Raises ``McpError``."""
        raw = self._configured.definition
        headers = {name: await self.text(value) for name, value in raw.headers.items()}
        if raw.bearer_token_env:
            headers["Authorization"] = f"Bearer {self._variable(raw.bearer_token_env, None)}"
        return replace(
            raw,
            command=tuple([await self.text(word) for word in raw.command]),
            env={name: await self.text(value) for name, value in raw.env.items()},
            cwd=await self.text(raw.cwd),
            url=await self.text(raw.url),
            headers=headers,
        )

    async def text(self, value: str) -> str:
        """One value, expanded."""
        if value.startswith("!"):
            return (await self._run(value[1:])).strip()
        value = value.replace("${workspaceFolder}", str(self._cwd))
        return _VARIABLE.sub(lambda found: self._variable(found[1], found[2]), value)

    def _variable(self, name: str, default: str | None) -> str:
        found, where = self._environ.get(name), self._configured
        if found and where.is_project and _CREDENTIAL.search(name):
            raise McpError(
                f"MCP server {where.name}: {where.source} uses the variable {name}, which looks"
                " like a credential; files of a project do not get credentials.",
                hint=f"Define the server in ~/.pi/agent/mcp.json to use {name}.",
            )
        if found:
            return found
        if default is None:
            raise McpError(
                f"MCP server {where.name}: the variable {name} is not set ({where.source}).",
                hint=f"Set it, or write ${{{name}:-default}}.",
            )
        return default

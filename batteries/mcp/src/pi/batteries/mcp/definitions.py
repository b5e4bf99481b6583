"""Definitions of servers as records, wherever they were read. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeAlias

from pi.extension import Json, Record, Where, field, replace

TransportKind: TypeAlias = Literal["stdio", "http", "sse"]
Exposure: TypeAlias = Literal["direct", "deferred", "hidden"]
EXPOSURES: dict[str, Exposure] = {
    "direct": "direct",
    "deferred": "deferred",
    "hidden": "hidden",
    # Without a code mode its tools are searched for, like deferred ones.
    "codemode": "deferred",
    "codemode-deferred": "deferred",
}
"""The exposures of files, by their names there."""


class Definition(Record):
    """The definition of a server in a file, before values are expanded."""

    name: str
    transport: TransportKind = "stdio"
    command: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    cwd: str = ""
    url: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    bearer_token_env: str = ""
    """Name of the variable with the access token."""
    fallback_to_sse: bool = False
    """Whether the older HTTP transport is tried as well, because the file names none."""
    enabled: bool = True
    timeout: float | None = None
    """Time limit of one request in seconds; 0 for none."""
    start_timeout: float | None = None
    only_tools: tuple[str, ...] | None = None
    without_tools: tuple[str, ...] = ()
    exposure: Exposure | None = None
    """How tools are exposed; ``None``: declared, unless there are many."""
    tool_exposure: dict[str, Exposure] = field(default_factory=dict)
    """Exposures by name or pattern of a tool."""
    wants_codemode: bool = False
    """Whether the file names an exposure of the code mode, which does not exist here."""
    description: str = ""
    """One line about the server, for the model."""
    oauth: Json = field(default_factory=dict)
    """``clientId``, ``clientSecret`` and ``scopes`` of a registered client."""
    problem: str = ""
    """Why the definition cannot be used; empty if it can."""

    @property
    def runs(self) -> Json:
        """All values that determine what is executed or contacted; consent covers exactly them."""
        values: Json = {
            "command": list(self.command),
            "env": self.env,
            "cwd": self.cwd,
            "url": self.url,
            "headers": self.headers,
            "bearerTokenEnv": self.bearer_token_env,
            "oauth": self.oauth,
        }
        return {"transport": self.transport} | {
            key: value for key, value in values.items() if value
        }

    @property
    def digest(self) -> str:
        """A hash of ``runs``: equal for equal servers with different names."""
        data = json.dumps(self.runs, sort_keys=True).encode("utf-8", "replace")
        return hashlib.sha256(data).hexdigest()


class ServerChange(Record):
    """What a file of a project changes about a server of the user, without defining it."""

    name: str
    enabled: bool | None = None
    exposure: Exposure | None = None
    tool_exposure: dict[str, Exposure] = field(default_factory=dict)

    def applied(self, definition: Definition) -> Definition:
        """The changed definition; single tools keep their exposure unless they are named."""
        return replace(
            definition,
            enabled=definition.enabled if self.enabled is None else self.enabled,
            exposure=self.exposure or definition.exposure,
            tool_exposure={**definition.tool_exposure, **self.tool_exposure},
        )

    @property
    def describes(self) -> Json:
        """The change as JSON, for the question to the user."""
        values: Json = {
            "enabled": self.enabled,
            "exposure": self.exposure,
            "toolExposure": self.tool_exposure or None,
        }
        return {name: value for name, value in values.items() if value is not None}


class ConfigFile(Record):
    """The servers of one file."""

    servers: tuple[Definition, ...] = ()
    changes: tuple[ServerChange, ...] = ()
    """Changes of servers that other files define."""
    disabled: frozenset[str] = frozenset()
    enabled: frozenset[str] | None = None


class Configured(Record):
    """A definition with its source."""

    definition: Definition
    source: str
    """The file, or ``settings``."""
    is_own: bool
    """Whether the source is the user's own configuration of pi, which needs no consent."""
    is_project: bool
    shadowed_by: str = ""
    """The source of the definition that is used instead; empty if this one is used."""

    @property
    def name(self) -> str:
        """The name of the server."""
        return self.definition.name

    @property
    def is_same_everywhere(self) -> bool:
        """Whether the server is the same for every working directory, so sessions can share it."""
        definition = self.definition
        values = (
            *definition.command,
            *definition.env.values(),
            definition.cwd,
            definition.url,
            *definition.headers.values(),
        )
        depends = any("${workspaceFolder}" in value or value.startswith("!") for value in values)
        is_placed = definition.transport != "stdio" or Path(definition.cwd).is_absolute()
        return is_placed and not depends and not self.is_project


Read: TypeAlias = Callable[[Json, Where | None], ConfigFile]

"""Files of other agents that a session uses: folders, plugins, and values of their settings.

Nothing is opened unless its directory is trusted, or the user has accepted the agent.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from msgspec import field

from pi.base.formats import BadFormat, parse_jsonc, parse_toml, with_position
from pi.base.records import Record
from pi.coding.other_agents import (
    AGENTS,
    Agent,
    AgentUse,
    Kind,
    project_directories,
    project_paths,
)
from pi.coding.resources.prompts import PromptTemplate, named_command
from pi.coding.resources.sources import BadResource, Place, Scope, Warn, read_text
from pi.coding.resources.tolerant_files import entries_of, existing, is_file, path_exists

CLAUDE_PLUGIN = ".claude-plugin/plugin.json"
GEMINI_EXTENSION = "gemini-extension.json"
INSTALLED = "installed_plugins.json"
"""The file in which Claude Code lists the plugins of the user."""
_RISKY = ("PATH", "ENV", "BASH_ENV", "IFS", "SHELLOPTS", "BASHOPTS", "PROMPT_COMMAND")
_RISKY_PREFIXES = ("LD_", "DYLD_", "BASH_FUNC_")
"""Variables that change which programs run: they are never taken from such settings."""


class AgentPath(Record):
    """An existing file or folder that may be used."""

    agent: str
    path: Path
    scope: Scope


class Plugin(Record):
    """A plugin of Claude Code, or an extension of Gemini CLI."""

    agent: str
    name: str
    root: Path
    scope: Scope
    context: tuple[str, ...] = ()
    """Names of its instruction files."""


class AgentSettings(Record):
    """The settings of other agents that pi uses."""

    context_names: tuple[str, ...] = ()
    """Further names of instruction files: ``context.fileName`` of Gemini CLI."""
    fallback_names: tuple[str, ...] = ()
    """Names used where there is no ``AGENTS.md``: ``project_doc_fallback_filenames`` of Codex."""
    instructions: tuple[tuple[Path, str, Scope], ...] = ()
    """``instructions`` of opencode: a folder, and a pattern of files below it."""
    commands: tuple[PromptTemplate, ...] = ()
    """``command`` of opencode."""
    variables: dict[str, str] = field(default_factory=dict)
    """Variables for commands: ``env`` of Claude Code, ``shell_environment_policy`` of Codex."""
    plugins_off: frozenset[str] = frozenset()
    """Plugins that ``enabledPlugins`` of Claude Code switches off."""


class AgentFiles:
    """The files of other agents in one project and in the home directory."""

    def __init__(
        self, cwd: Path, home: Path, use: AgentUse, trusts: Callable[[Path], bool], warn: Warn
    ) -> None:
        self.use = use
        self._cwd = cwd
        self._home = home
        self._trusts = trusts
        self._warn = warn

    def paths(self, *kinds: Kind) -> Iterator[AgentPath]:
        """Yield the existing paths of these kinds: first of the project, then of the user."""
        if trusted := self.directories:
            for agent, directory, path in project_paths(self._cwd, self._home, self.use, *kinds):
                if directory in trusted and path_exists(path):
                    yield AgentPath(agent=agent, path=path, scope="project")
        offered = [
            AgentPath(agent=accepted.name, path=self._home / name, scope="user")
            for accepted in self._accepted
            for kind in kinds
            for name in accepted.user.get(kind, ())
        ]
        existing_paths = set(existing(agent_path.path for agent_path in offered))
        yield from (agent_path for agent_path in offered if agent_path.path in existing_paths)

    @cached_property
    def _accepted(self) -> tuple[Agent, ...]:
        """The agents whose files in the home directory are used."""
        return tuple(agent for agent in AGENTS.values() if self.use.of_user(agent.name))

    def places(self, kind: Kind) -> Iterator[Place]:
        """Yield the folders of skills or commands, then those of plugins."""
        for agent_path in self.paths(kind):
            yield Place(path=agent_path.path, source=agent_path.agent, scope=agent_path.scope)
        for plugin in self.plugins:
            folder = plugin.root / kind
            if path_exists(folder):
                prefix = plugin.name if plugin.agent == "claude" else ""
                yield Place(path=folder, source=plugin.agent, scope=plugin.scope, prefix=prefix)

    @cached_property
    def directories(self) -> tuple[Path, ...]:
        """The directories of the project that are trusted, nearest first."""
        every = project_directories(self._cwd, self._home)
        return tuple(directory for directory in every if self._trusts(directory))

    @cached_property
    def plugins(self) -> tuple[Plugin, ...]:
        """Plugins in folders of the project, and those that the user has installed."""
        plugins = list(self._plugins())
        return tuple(plugin for plugin in plugins if plugin.name not in self.settings.plugins_off)

    def _plugins(self) -> Iterator[Plugin]:
        for directory in self.directories:  # as in the specification
            yield from self._in_folder("gemini", directory / ".pi/extensions", "project")
        for agent_path in self.paths("plugins"):
            yield from self._in_folder(agent_path.agent, agent_path.path, agent_path.scope)
            if agent_path.agent == "claude" and is_file(agent_path.path / INSTALLED):
                for root in _install_paths(
                    self._read_values(agent_path.path / INSTALLED, parse_jsonc)
                ):
                    yield from self._claude(root, agent_path.scope)

    def _in_folder(self, agent: str, folder: Path, scope: Scope) -> Iterator[Plugin]:
        for root in entries_of(folder):
            yield from (self._claude if agent == "claude" else self._gemini)(root, scope)

    def _claude(self, root: Path, scope: Scope) -> Iterator[Plugin]:
        if is_file(root / CLAUDE_PLUGIN):
            values = self._read_values(root / CLAUDE_PLUGIN, parse_jsonc)
            name = values.get("name")
            yield Plugin(
                agent="claude",
                name=name if isinstance(name, str) and name else root.name,
                root=root,
                scope=scope,
            )

    def _gemini(self, root: Path, scope: Scope) -> Iterator[Plugin]:
        if not self.use.in_project("gemini") or not is_file(root / GEMINI_EXTENSION):
            return
        values = self._read_values(root / GEMINI_EXTENSION, parse_jsonc)
        yield Plugin(
            agent="gemini",
            name=root.name,
            root=root,
            scope=scope,
            context=_string_list(values.get("contextFileName")) or ("GEMINI.md",),
        )

    @cached_property
    def settings(self) -> AgentSettings:
        """The values of all settings files together; the nearest project file wins."""
        total = AgentSettings()
        for agent_path in reversed(list(self.paths("settings"))):
            parse = parse_toml if agent_path.path.suffix == ".toml" else parse_jsonc
            values = self._read_values(agent_path.path, parse)
            total = _merge(total, _SETTINGS[agent_path.agent](values, agent_path))
        return total

    def variables(self) -> dict[str, str]:
        """Return the variables for commands; those that change which programs run are left out."""
        used = dict(self.settings.variables)
        for name in [*used]:
            if name in _RISKY or name.startswith(_RISKY_PREFIXES):
                del used[name]
                self._warn(f"The variable {name} in settings of another agent is not used.")
        return used

    def _read_values(self, path: Path, parse: Callable[[str], Any]) -> dict[str, Any]:
        try:
            text = read_text(path)
            values = parse(text)
        except BadResource as error:
            self._warn(f"{path} was not used: {error.message}")
            return {}
        except BadFormat as error:
            self._warn(f"{path} was not used: {with_position(error.reason, text.encode())}")
            return {}
        if not isinstance(values, dict):
            self._warn(f"{path} was not used: line 1: expected an object")
            return {}
        return values


def _claude_settings(values: dict[str, Any], agent_path: AgentPath) -> AgentSettings:
    enabled = _as_dict(values.get("enabledPlugins"))
    off = (name.partition("@")[0] for name, on in enabled.items() if on is False)
    return AgentSettings(variables=_variables(values.get("env")), plugins_off=frozenset(off))


def _codex_settings(values: dict[str, Any], agent_path: AgentPath) -> AgentSettings:
    policy = _as_dict(values.get("shell_environment_policy"))
    return AgentSettings(
        fallback_names=_file_names(values.get("project_doc_fallback_filenames")),
        variables=_variables(policy.get("set")),
    )


def _gemini_settings(values: dict[str, Any], agent_path: AgentPath) -> AgentSettings:
    named = _as_dict(values.get("context")).get("fileName") or values.get("contextFileName")
    return AgentSettings(context_names=_file_names(named))


def _opencode_settings(values: dict[str, Any], agent_path: AgentPath) -> AgentSettings:
    folder = agent_path.path.parent
    base = folder.parent if folder.name == ".opencode" else folder
    source = Place(path=agent_path.path, source=agent_path.agent, scope=agent_path.scope).info(
        agent_path.path
    )
    named = _as_dict(values.get("command")).items()
    commands = (named_command(name, _as_dict(command), source) for name, command in named)
    return AgentSettings(
        instructions=tuple(
            (base, pattern, agent_path.scope)
            for pattern in _string_list(values.get("instructions"))
        ),
        commands=tuple(command for command in commands if command is not None),
    )


_SETTINGS: dict[str, Callable[[dict[str, Any], AgentPath], AgentSettings]] = {
    "claude": _claude_settings,
    "codex": _codex_settings,
    "gemini": _gemini_settings,
    "opencode": _opencode_settings,
}


def _merge(below: AgentSettings, above: AgentSettings) -> AgentSettings:
    return AgentSettings(
        context_names=above.context_names or below.context_names,
        fallback_names=above.fallback_names or below.fallback_names,
        instructions=below.instructions + above.instructions,
        commands=above.commands + below.commands,
        variables=below.variables | above.variables,
        plugins_off=below.plugins_off | above.plugins_off,
    )


def _install_paths(values: dict[str, Any]) -> Iterator[Path]:
    """Yield the folders of installed plugins; each has one entry, or one per scope."""
    for entry in _as_dict(values.get("plugins")).values():
        for installation in entry if isinstance(entry, list) else [entry]:
            path = _as_dict(installation).get("installPath")
            if isinstance(path, str) and os.path.isabs(path):  # noqa: PTH117
                yield Path(path)


def _as_dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _string_list(value: object) -> tuple[str, ...]:
    listed: Iterable[object] = value if isinstance(value, list) else [value]
    return tuple(text for text in listed if isinstance(text, str) and text)


def _file_names(value: object) -> tuple[str, ...]:
    """Return names of files; a path could lead out of the directory."""
    return tuple(name for name in _string_list(value) if "/" not in name and "\\" not in name)


def _variables(value: object) -> dict[str, str]:
    return {
        name: str(variable)
        for name, variable in _as_dict(value).items()
        if isinstance(variable, str | int) and name.isidentifier()
    }

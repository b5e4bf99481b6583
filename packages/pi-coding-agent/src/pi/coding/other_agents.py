"""Configuration files of other agents: their paths, and which are used. Opens no file.

Files of a project are configuration, so they are used once the project is trusted. Files of the
user, such as ``~/.claude``, were not written for pi: they are used after the user has accepted
them. ``sources.NAME`` of the settings switches an agent off, or accepts it without a question.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import field

from pi.base.records import Record

Kind: TypeAlias = Literal[
    "skills", "commands", "instructions", "rules", "tools", "settings", "plugins"
]
Paths: TypeAlias = dict[Kind, tuple[str, ...]]


class Agent(Record):
    """Another agent."""

    name: str
    """Its name in ``sources`` of the settings."""
    title: str
    project: Paths = field(default_factory=dict)
    """Paths below a directory of the project, by kind."""
    user: Paths = field(default_factory=dict)
    """Paths below the home directory, by kind."""


def _agent(name: str, title: str, project: Paths, user: Paths | None = None) -> Agent:
    return Agent(name=name, title=title, project=project, user=project if user is None else user)


AGENTS: dict[str, Agent] = {
    agent.name: agent
    for agent in (
        _agent(
            "claude",
            "Claude Code",
            {
                "skills": (".claude/skills",),
                "commands": (".claude/commands",),
                "instructions": (".claude/CLAUDE.md", "CLAUDE.local.md"),
                "rules": (".claude/rules",),
                "tools": (".claude/tools",),
                "settings": (".claude/settings.local.json", ".claude/settings.json"),
                "plugins": (".claude/plugins",),
            },
            {
                "skills": (".claude/skills",),
                "commands": (".claude/commands",),
                "instructions": (".claude/CLAUDE.md",),
                "rules": (".claude/rules",),
                "settings": (".claude/settings.json",),
                "plugins": (".claude/plugins",),
            },
        ),
        _agent(
            "codex",
            "Codex",
            {
                "skills": (".codex/skills",),
                "commands": (".codex/prompts", ".codex/commands"),
                "rules": (".codex/rules",),
                "tools": (".codex/tools",),
                "settings": (".codex/config.toml",),
            },
            {
                "skills": (".codex/skills",),
                "commands": (".codex/prompts", ".codex/commands"),
                "instructions": (".codex/AGENTS.override.md", ".codex/AGENTS.md"),
                "rules": (".codex/rules",),
            },
        ),
        _agent(
            "agents",
            ".agents",
            {
                "skills": (".agents/skills",),
                "commands": (".agents/commands", ".agents/prompts"),
                "instructions": (".agents/AGENTS.md",),
                "rules": (".agents/rules",),
                "tools": (".agents/tools",),
            },
            {
                "skills": (".agents/skills",),
                "commands": (".agents/commands", ".agents/prompts"),
                "instructions": (".agents/AGENTS.md",),
                "rules": (".agents/rules",),
            },
        ),
        _agent(
            "gemini",
            "Gemini CLI",
            {
                "skills": (".gemini/skills",),
                "commands": (".gemini/commands",),
                "instructions": ("GEMINI.md", ".gemini/GEMINI.md"),
                "rules": (".gemini/rules",),
                "tools": (".gemini/tools",),
                "settings": (".gemini/settings.json",),
                "plugins": (".gemini/extensions",),
            },
            {
                "skills": (".gemini/skills",),
                "commands": (".gemini/commands",),
                "instructions": (".gemini/GEMINI.md",),
                "rules": (".gemini/rules",),
                "plugins": (".gemini/extensions",),
            },
        ),
        _agent(
            "opencode",
            "opencode",
            {
                "skills": (".opencode/skills", ".opencode/skill"),
                "commands": (".opencode/commands", ".opencode/command"),
                "settings": ("opencode.json", "opencode.jsonc", ".opencode/opencode.json"),
            },
            {
                "skills": (".config/opencode/skills", ".config/opencode/skill"),
                "commands": (".config/opencode/commands", ".config/opencode/command"),
                "instructions": (".config/opencode/AGENTS.md",),
                "settings": (".config/opencode/opencode.json", ".config/opencode/opencode.jsonc"),
            },
        ),
        _agent(
            "cursor",
            "Cursor",
            {
                "skills": (".cursor/skills",),
                "commands": (".cursor/commands",),
                "rules": (".cursor/rules", ".cursorrules"),
            },
            {
                "skills": (".cursor/skills",),
                "commands": (".cursor/commands",),
                "rules": (".cursor/rules",),
            },
        ),
        _agent(
            "copilot",
            "GitHub Copilot",
            {
                "skills": (".github/skills",),
                "commands": (".github/prompts",),
                "instructions": (".github/copilot-instructions.md", ".github/instructions"),
            },
            {
                "skills": (".copilot/skills",),
                "instructions": (".copilot/copilot-instructions.md",),
            },
        ),
        _agent(
            "windsurf",
            "Windsurf",
            {
                "commands": (".windsurf/workflows",),
                "rules": (".windsurf/rules", ".windsurfrules"),
            },
            {"rules": (".codeium/windsurf/memories/global_rules.md",)},
        ),
        _agent("cline", "Cline", {}, {"rules": (".clinerules",)}),
    )
}
"""In order of precedence: of two skills or commands with the same name the first is used."""

CLINE_RULES = ".clinerules"
"""A folder or a file, in the working directory or above; the nearest one counts."""

SHARED = "agents"
"""``~/.agents`` needs no acceptance: it is shared by agents, and the original pi reads it, too."""


class AgentUse(Record):
    """The agents whose files are used, in projects and in the home directory."""

    off: frozenset[str] = frozenset()
    """Agents that ``sources`` switches off."""
    accepted: frozenset[str] = frozenset()
    """Agents whose files in the home directory the user has accepted."""

    def in_project(self, name: str) -> bool:
        """Whether the agent's files in a trusted project are used; True for unknown names."""
        return name not in self.off

    def of_user(self, name: str) -> bool:
        """Whether the agent's files in the home directory are used; True for unknown names."""
        if name in self.off:
            return False
        return name in self.accepted or name == SHARED or name not in AGENTS


EVERY_AGENT = AgentUse()
"""All agents in projects, none of the user's files."""


def repository_of(folder: Path) -> Path | None:
    """Return the root of the git repository that contains ``folder``; ``None`` without one."""
    candidates = (folder, *folder.parents)
    # ``os.path``: the methods of ``Path`` raise in unreadable folders.
    return next((candidate for candidate in candidates if os.path.exists(candidate / ".git")), None)  # noqa: PTH110


def project_directories(cwd: Path, home: Path) -> tuple[Path, ...]:
    """Return the directories of the project, nearest first: ``cwd`` up to its repository.

    The home directory is never part of a project: files in it belong to the user.
    """
    repository = repository_of(cwd)
    directories = []
    for directory in (cwd, *cwd.parents) if repository else (cwd,):
        if directory == home:
            break
        directories.append(directory)
        if directory == repository:
            break
    return tuple(directories)


def project_paths(
    cwd: Path, home: Path, use: AgentUse, *kinds: Kind
) -> Iterator[tuple[str, Path, Path]]:
    """Yield agent, directory and path of every possible file of ``kinds``.

    Ordered by agent, then kind, then directory, the nearest first. The caller checks whether the
    file exists and the directory is trusted.
    """
    for agent, directory, name in _project_names(cwd, home, use, *kinds):
        yield agent, directory, directory / name


def _project_names(
    cwd: Path, home: Path, use: AgentUse, *kinds: Kind
) -> Iterator[tuple[str, Path, str]]:
    directories = project_directories(cwd, home)
    for agent in AGENTS.values():
        if not use.in_project(agent.name):
            continue
        for kind in kinds:
            for directory in directories:
                for name in agent.project.get(kind, ()):
                    yield agent.name, directory, name


ALL_KINDS: tuple[Kind, ...] = (
    "skills", "commands", "instructions", "rules", "tools", "settings", "plugins",
)  # fmt: skip


def gated_agent_files(cwd: Path, home: Path, use: AgentUse) -> list[Path]:
    """Return the existing files of other agents that are used if the project is trusted."""
    existing_folders: dict[str, bool] = {}
    agent_files = [
        directory / name
        for _, directory, name in _project_names(cwd, home, use, *ALL_KINDS)
        if exists_below(directory, name, existing_folders)
    ]
    if use.in_project("cline"):
        parents = (directory for directory in (cwd, *cwd.parents) if directory != home)
        agent_files += (
            parent / CLINE_RULES
            for parent in parents
            if exists_below(parent, CLINE_RULES, existing_folders)
        )
    return agent_files


def exists_below(directory: Path, name: str, existing_folders: dict[str, bool]) -> bool:
    """Whether ``name`` exists in a directory; ``existing_folders`` caches which of them exist.

    Each start checks more than 200 names, nearly all of them in a few folders that do not exist.
    """
    folder, _, rest = name.partition("/")
    path = os.path.join(directory, folder)  # noqa: PTH118 - five times as fast as a ``Path``
    is_there = existing_folders.get(path)
    if is_there is None:
        is_there = existing_folders[path] = os.path.lexists(path)
    return is_there and (not rest or os.path.lexists(os.path.join(path, rest)))  # noqa: PTH118


def offered(home: Path, use: AgentUse, decided: Iterable[str] = ()) -> dict[str, list[Path]]:
    """Return the files in the home directory of agents that are not decided yet, by agent."""
    undecided: dict[str, list[Path]] = {}
    settled = {*decided, *use.off, *use.accepted, SHARED}
    folders: dict[str, bool] = {}
    for agent in AGENTS.values():
        if agent.name not in settled:
            names = (name for paths in agent.user.values() for name in paths)
            existing = [home / name for name in names if exists_below(home, name, folders)]
            if existing:
                undecided[agent.name] = existing
    return undecided


def kind_of(path: Path) -> Kind | None:
    """Return the kind of a file or folder of another agent in a project; ``None`` for others."""
    for agent in AGENTS.values():
        for kind, names in agent.project.items():
            if any(path.parts[-name.count("/") - 1 :] == tuple(name.split("/")) for name in names):
                return kind
    return None

"""What of a project needs trust: found by name, without opening anything."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

PROJECT_FOLDER = ".pi"
GATED = (
    "settings.json",
    "extensions",
    "tools",
    "skills",
    "prompts",
    "rules",
    "themes",
    "SYSTEM.md",
    "APPEND_SYSTEM.md",
)
"""Names below ``.pi``."""
OTHER_AGENTS = (".claude", ".codex", ".agents", ".gemini", ".cursor", ".windsurf")
"""Folders of other agents, below which ``rules`` are instructions as well."""
OTHERS_FOLDERS = (
    ".claude/skills",
    ".claude/commands",
    ".codex/skills",
    ".codex/prompts",
    ".gemini/skills",
)
"""What else other agents keep in a project, and extensions may use here."""
CLINE_RULES = ".clinerules"
"""Those of another one: a folder or a file, of which the nearest here or above counts."""
CONTEXT_FILES = ("AGENTS.override.md", "AGENTS.md", "AGENTS.MD", "CLAUDE.md", "CLAUDE.MD")
"""Instructions for the agent; in every directory the first one that is there counts."""


def gated_in(cwd: Path, *, home: Path) -> tuple[Path, ...]:
    """What is there that only a trusted project may bring along."""
    folder = cwd / PROJECT_FOLDER
    own = [folder / name for name in GATED]
    if cwd != home:  # where these are the person's own
        own.append(cwd / ".env")
        own += (cwd / agent / "rules" for agent in OTHER_AGENTS)
        own += (cwd / name for name in OTHERS_FOLDERS)
    own += (each / CLINE_RULES for each in (cwd, *cwd.parents) if each != home)
    found = [path for path in own if os.path.lexists(path)]
    found += (path for path in agent_skills(cwd, home=home) if os.path.lexists(path))
    found += (path for directory in (cwd, *cwd.parents) for path in context_file(directory))
    return tuple(found)


def agent_skills(cwd: Path, *, home: Path) -> Iterator[Path]:
    """``.agents/skills`` here and above; the person's own is no project's."""
    for directory in (cwd, *cwd.parents):
        if directory != home:
            yield directory / ".agents" / "skills"


def context_file(directory: Path) -> Iterator[Path]:
    """The file of instructions that counts in a directory, if there is one."""
    for name in CONTEXT_FILES:
        path = directory / name
        if path.exists() and not path.is_dir():  # a pipe is refused by whoever reads it
            yield path
            return

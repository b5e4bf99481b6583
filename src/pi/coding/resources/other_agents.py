"""Skills and prompt templates of other agents, where these keep them.

A session uses none of them unasked: extensions load them, or settings name their folders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from pi.coding.resources.kinds import ResourceKind, ResourceSource, Where
from pi.coding.resources.prompts import parse_template, template_files
from pi.coding.resources.skills import parse_skill, skill_files

SKILLS = ResourceKind(name="skills", parse=parse_skill, key=lambda skill: skill.name)
PROMPTS = ResourceKind(name="prompts", parse=parse_template, key=lambda template: template.name)


def _source(
    kind: ResourceKind,
    agent: str,
    priority: int,
    folder: str,
    files: Callable[[Path], Iterable[Path]],
) -> ResourceSource:
    """A folder of the project, and the one of that name at home."""

    def find(where: Where) -> Iterator[Path]:
        yield from files(where.cwd / folder)
        if where.cwd != where.home:
            yield from files(where.home / folder)

    return ResourceSource(kind=kind.name, name=agent, priority=priority, find=find)


SOURCES = (
    _source(SKILLS, "claude", 80, ".claude/skills", skill_files),
    _source(SKILLS, "codex", 70, ".codex/skills", skill_files),
    _source(SKILLS, "gemini", 60, ".gemini/skills", skill_files),
    _source(PROMPTS, "claude", 80, ".claude/commands", template_files),
    _source(PROMPTS, "codex", 70, ".codex/prompts", template_files),
)
"""Whose count: of two with one name those of the agent that stands higher, and pi's own first."""

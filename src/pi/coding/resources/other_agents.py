"""Skills and prompt templates of other agents, where these keep them.

A session uses none of them unasked: extensions load them, or settings name their folders.
"""

from __future__ import annotations

from pi.coding.resources.kinds import ResourceKind, agent_source
from pi.coding.resources.prompts import parse_template, template_files
from pi.coding.resources.skills import parse_skill, skill_files

SKILLS = ResourceKind(name="skills", parse=parse_skill, key=lambda skill: skill.name)
PROMPTS = ResourceKind(name="prompts", parse=parse_template, key=lambda template: template.name)


SOURCES = (
    agent_source(SKILLS.name, "claude", 80, ".claude/skills", skill_files),
    agent_source(SKILLS.name, "codex", 70, ".codex/skills", skill_files),
    agent_source(SKILLS.name, "gemini", 60, ".gemini/skills", skill_files),
    agent_source(PROMPTS.name, "claude", 80, ".claude/commands", template_files),
    agent_source(PROMPTS.name, "codex", 70, ".codex/prompts", template_files),
)
"""Whose count: of two with one name those of the agent that stands higher, and pi's own first."""

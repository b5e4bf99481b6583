"""Skills and prompt templates of other agents."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.coding.resources.kinds import (
    OTHER_AGENT_SOURCES,
    PROMPTS,
    SKILLS,
    ResourceKind,
    Where,
    load_kind,
)
from pi.coding.trust import gated_in
from tests.coding.resources.places import place
from tests.files import put

SKILL = "---\ndescription: d\n---\nBody"


def found(kind: ResourceKind, where: Where) -> list[tuple[str, str, str, bool]]:
    sources = [source for source in OTHER_AGENT_SOURCES if source.kind == kind.name]
    items = load_kind(kind, sources, where, print)
    return [(item.source, item.key, item.scope, item.shadowed) for item in items]


def test_skills_are_found_in_the_order_of_their_agents(tmp_path: Path) -> None:
    where = place(tmp_path)
    for folder in (where.cwd / ".gemini", where.cwd / ".claude", where.home / ".codex"):
        put(folder / "skills" / "same" / "SKILL.md", SKILL)
    put(where.home / ".claude" / "skills" / "mine" / "SKILL.md", SKILL)
    put(where.home / ".claude" / "skills" / "broken" / "SKILL.md", "no description")

    assert found(SKILLS, where) == [
        ("claude", "same", "project", False),
        ("claude", "mine", "user", False),
        ("codex", "same", "user", True),
        ("gemini", "same", "project", True),
    ]


def test_commands_are_prompt_templates(tmp_path: Path) -> None:
    where = place(tmp_path)
    put(where.cwd / ".claude" / "commands" / "fix.md", "Fix $ARGUMENTS")
    put(where.home / ".codex" / "prompts" / "fix.md", "Fix it")

    assert found(PROMPTS, where) == [
        ("claude", "fix", "project", False),
        ("codex", "fix", "user", True),
    ]


@pytest.mark.parametrize(
    ("kind", "name"), [(SKILLS, ".claude/skills/x.md"), (PROMPTS, ".codex/prompts/x.md")]
)
def test_what_a_project_brings_is_asked_about_and_not_read_before(
    tmp_path: Path, kind: ResourceKind, name: str
) -> None:
    trusting, wary = place(tmp_path), place(tmp_path, trusted=False)
    put(trusting.cwd / name, SKILL)

    assert len(gated_in(wary.cwd, home=wary.home)) == 1
    assert len(found(kind, trusting)) == 1
    assert found(kind, wary) == []

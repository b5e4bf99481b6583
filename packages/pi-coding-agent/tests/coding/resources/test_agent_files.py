"""Folders, plugins and settings of other agents."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pi.base.records import replace
from pi.coding.other_agents import AGENTS, AgentUse, offered
from pi.coding.resources.agent_files import AgentFiles
from pi.coding.resources.discovery import (
    ResourceLists,
    ResourceOptions,
    ResourceSearch,
    SkillNames,
    discover,
)
from pi.coding.resources.kinds import load_kind
from pi.coding.resources.rules import RULE_SOURCES, RULES
from tests.coding.resources.places import place
from tests.files import put

SKILL = "---\ndescription: d\n---\nBody"


@pytest.fixture
def where(tmp_path: Path) -> ResourceSearch:
    home = tmp_path / "home"
    cwd = home / "repo/app"
    cwd.mkdir(parents=True)
    put(cwd.parent / ".git/HEAD", "")
    return ResourceSearch(
        cwd=cwd,
        agent_dir=home / ".pi/agent",
        home=home,
        trusted=True,
        trusts=lambda folder: True,
        user=ResourceLists(base=home),
        project=ResourceLists(base=cwd),
        use=AgentUse(accepted=frozenset(AGENTS)),
    )


def skills(where: ResourceSearch) -> list[tuple[str, str, str]]:
    found = discover(ResourceOptions(), where).skills
    return [(each.skill.name, each.source.source, each.source.scope) for each in found]


def test_the_project_comes_before_the_user_and_pi_before_other_agents(
    where: ResourceSearch,
) -> None:
    put(where.home / ".claude/skills/a/SKILL.md", SKILL)
    put(where.cwd / ".gemini/skills/a/SKILL.md", SKILL)
    put(where.cwd.parent / ".claude/skills/b/SKILL.md", SKILL)
    put(where.cwd.parent / ".pi/skills/b/SKILL.md", SKILL)
    put(where.cwd / ".claude/skills/README.md", "not a skill")

    assert skills(where) == [("b", "auto", "project"), ("a", "gemini", "project")]


def test_patterns_of_skill_names_select_the_used_skills(where: ResourceSearch) -> None:
    for name in ("deploy-a", "deploy-b", "test"):
        put(where.cwd / f".pi/skills/{name}/SKILL.md", SKILL)
    names = SkillNames(include=("deploy-*",), ignore=("*-b",))

    assert [name for name, _, _ in skills(replace(where, names=names))] == ["deploy-a"]


def test_the_nearest_prompt_files_of_the_repository_are_used(where: ResourceSearch) -> None:
    put(where.cwd.parent / ".pi/SYSTEM.md", "root")
    put(where.cwd.parent / ".pi/APPEND_SYSTEM.md", "root")
    put(where.cwd / ".pi/APPEND_SYSTEM.md", "near")
    put(where.cwd.parent / ".pi/prompts/hi.md", "hi")
    put(where.cwd.parent / ".pi/commands/a/b.md", "b")
    found = discover(ResourceOptions(), where)

    assert (found.prompt_files.system, found.prompt_files.append) == ("root", "near")
    assert [each.name for each in found.prompts] == ["hi", "a:b"]


def test_untrusted_parent_directories_are_not_used(where: ResourceSearch) -> None:
    put(where.cwd.parent / ".pi/SYSTEM.md", "root")
    put(where.cwd.parent / ".claude/skills/b/SKILL.md", SKILL)
    wary = replace(where, trusts=lambda folder: folder == where.cwd)

    assert discover(ResourceOptions(), wary).prompt_files.system == ""
    assert skills(wary) == []


def test_installed_plugins_of_the_user_are_used_unless_they_are_off(where: ResourceSearch) -> None:
    base = where.home / ".claude/plugins"
    listed = {}
    for name in ("one", "two"):
        root = base / "cache" / name
        put(root / ".claude-plugin/plugin.json", json.dumps({"name": name}))
        put(root / f"skills/{name}-skill/SKILL.md", SKILL)
        listed[f"{name}@market"] = [{"scope": "user", "installPath": str(root)}]
    put(base / "installed_plugins.json", json.dumps({"version": 2, "plugins": listed}))
    put(where.home / ".claude/settings.json", '{"enabledPlugins": {"two@market": false}}')

    assert skills(where) == [("one-skill", "claude", "user")]


def test_a_wrong_settings_file_is_one_warning_with_path_and_line(where: ResourceSearch) -> None:
    files = {
        ".claude/settings.json": '{\n"env": {x}}',
        ".codex/config.toml": "a = 1\nb = = 2",
        "opencode.json": "[]",
    }
    for name, text in files.items():
        put(where.cwd / name, text)
    warnings = discover(ResourceOptions(), where).warnings

    starts = sorted(warning.partition(": ")[0] for warning in warnings)
    assert starts == sorted(f"{where.cwd / name} was not used" for name in files)
    assert [f"line {n}" in w for w, n in zip(sorted(warnings), (2, 2, 1), strict=True)] == [
        True,
        True,
        True,
    ]


def test_settings_of_the_project_win_over_those_of_the_user(where: ResourceSearch) -> None:
    put(where.home / ".claude/settings.json", '{"env": {"A": "user", "B": "user"}}')
    put(where.cwd / ".claude/settings.json", '{"env": {"A": "project"}}')
    put(where.cwd / ".claude/settings.local.json", '{"env": {"A": "local", "LD_PRELOAD": "x"}}')
    found = discover(ResourceOptions(), where)

    assert found.variables == {"A": "local", "B": "user"}
    assert "LD_PRELOAD" in found.warnings[0]


def test_rules_respect_disabled_and_accepted_agents(tmp_path: Path) -> None:
    where = place(tmp_path)
    put(where.cwd / ".claude/rules/a.md", "project")
    put(where.home / ".claude/rules/b.md", "user")

    def rules(use: AgentUse) -> list[str]:
        found = load_kind(RULES, RULE_SOURCES, replace(where, use=use), print)
        return [item.key for item in found]

    assert rules(AgentUse(accepted=frozenset({"claude"}))) == ["a", "b"]
    assert rules(AgentUse()) == ["a"]
    assert rules(AgentUse(off=frozenset({"claude"}), accepted=frozenset({"claude"}))) == []


def test_only_agents_without_a_decision_are_offered(tmp_path: Path) -> None:
    put(tmp_path / ".claude/CLAUDE.md", "")
    put(tmp_path / ".gemini/GEMINI.md", "")
    put(tmp_path / ".agents/skills/x/SKILL.md", "")
    put(tmp_path / ".cursor/other", "nothing that is used")

    assert list(offered(tmp_path, AgentUse())) == ["claude", "gemini"]
    assert list(offered(tmp_path, AgentUse(off=frozenset({"gemini"})), ["claude"])) == []


def test_outside_a_repository_parent_directories_are_not_searched(where: ResourceSearch) -> None:
    (where.cwd.parent / ".git/HEAD").unlink()
    (where.cwd.parent / ".git").rmdir()
    put(where.cwd.parent / ".claude/skills/b/SKILL.md", SKILL)
    agents = AgentFiles(where.cwd, where.home, where.use, where.trusts, print)

    assert agents.directories == (where.cwd,)
    assert skills(where) == []

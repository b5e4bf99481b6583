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
from tests.coding.resources.places import make_search
from tests.files import put

SKILL = "---\ndescription: d\n---\nBody"


@pytest.fixture
def search(tmp_path: Path) -> ResourceSearch:
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


def skills(search: ResourceSearch) -> list[tuple[str, str, str]]:
    found_skills = discover(ResourceOptions(), search).skills
    return [
        (found_skill.skill.name, found_skill.source.source, found_skill.source.scope)
        for found_skill in found_skills
    ]


def test_the_project_comes_before_the_user_and_pi_before_other_agents(
    search: ResourceSearch,
) -> None:
    put(search.home / ".claude/skills/a/SKILL.md", SKILL)
    put(search.cwd / ".gemini/skills/a/SKILL.md", SKILL)
    put(search.cwd.parent / ".claude/skills/b/SKILL.md", SKILL)
    put(search.cwd.parent / ".pi/skills/b/SKILL.md", SKILL)
    put(search.cwd / ".claude/skills/README.md", "not a skill")

    assert skills(search) == [("b", "auto", "project"), ("a", "gemini", "project")]


def test_patterns_of_skill_names_select_the_used_skills(search: ResourceSearch) -> None:
    for name in ("deploy-a", "deploy-b", "test"):
        put(search.cwd / f".pi/skills/{name}/SKILL.md", SKILL)
    names = SkillNames(include=("deploy-*",), ignore=("*-b",))

    assert [name for name, _, _ in skills(replace(search, names=names))] == ["deploy-a"]


def test_the_nearest_prompt_files_of_the_repository_are_used(search: ResourceSearch) -> None:
    put(search.cwd.parent / ".pi/SYSTEM.md", "root")
    put(search.cwd.parent / ".pi/APPEND_SYSTEM.md", "root")
    put(search.cwd / ".pi/APPEND_SYSTEM.md", "near")
    put(search.cwd.parent / ".pi/prompts/hi.md", "hi")
    put(search.cwd.parent / ".pi/commands/a/b.md", "b")
    resources = discover(ResourceOptions(), search)

    assert (resources.prompt_files.system, resources.prompt_files.append) == ("root", "near")
    assert [prompt.name for prompt in resources.prompts] == ["hi", "a:b"]


def test_untrusted_parent_directories_are_not_used(search: ResourceSearch) -> None:
    put(search.cwd.parent / ".pi/SYSTEM.md", "root")
    put(search.cwd.parent / ".claude/skills/b/SKILL.md", SKILL)
    wary = replace(search, trusts=lambda folder: folder == search.cwd)

    assert discover(ResourceOptions(), wary).prompt_files.system == ""
    assert skills(wary) == []


def test_installed_plugins_of_the_user_are_used_unless_they_are_off(search: ResourceSearch) -> None:
    base = search.home / ".claude/plugins"
    listed = {}
    for name in ("one", "two"):
        root = base / "cache" / name
        put(root / ".claude-plugin/plugin.json", json.dumps({"name": name}))
        put(root / f"skills/{name}-skill/SKILL.md", SKILL)
        listed[f"{name}@market"] = [{"scope": "user", "installPath": str(root)}]
    put(base / "installed_plugins.json", json.dumps({"version": 2, "plugins": listed}))
    put(search.home / ".claude/settings.json", '{"enabledPlugins": {"two@market": false}}')

    assert skills(search) == [("one-skill", "claude", "user")]


def test_a_wrong_settings_file_is_one_warning_with_path_and_line(search: ResourceSearch) -> None:
    files = {
        ".claude/settings.json": '{\n"env": {x}}',
        ".codex/config.toml": "a = 1\nb = = 2",
        "opencode.json": "[]",
    }
    for name, text in files.items():
        put(search.cwd / name, text)
    warnings = discover(ResourceOptions(), search).warnings

    starts = sorted(warning.partition(": ")[0] for warning in warnings)
    assert starts == sorted(f"{search.cwd / name} was not used" for name in files)
    assert [f"line {n}" in w for w, n in zip(sorted(warnings), (2, 2, 1), strict=True)] == [
        True,
        True,
        True,
    ]


def test_settings_of_the_project_win_over_those_of_the_user(search: ResourceSearch) -> None:
    put(search.home / ".claude/settings.json", '{"env": {"A": "user", "B": "user"}}')
    put(search.cwd / ".claude/settings.json", '{"env": {"A": "project"}}')
    put(search.cwd / ".claude/settings.local.json", '{"env": {"A": "local", "LD_PRELOAD": "x"}}')
    resources = discover(ResourceOptions(), search)

    assert resources.variables == {"A": "local", "B": "user"}
    assert "LD_PRELOAD" in resources.warnings[0]


def test_rules_respect_disabled_and_accepted_agents(tmp_path: Path) -> None:
    search = make_search(tmp_path)
    put(search.cwd / ".claude/rules/a.md", "project")
    put(search.home / ".claude/rules/b.md", "user")

    def rules(use: AgentUse) -> list[str]:
        rules = load_kind(RULES, RULE_SOURCES, replace(search, use=use), print)
        return [item.key for item in rules]

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


def test_outside_a_repository_parent_directories_are_not_searched(search: ResourceSearch) -> None:
    (search.cwd.parent / ".git/HEAD").unlink()
    (search.cwd.parent / ".git").rmdir()
    put(search.cwd.parent / ".claude/skills/b/SKILL.md", SKILL)
    agents = AgentFiles(search.cwd, search.home, search.use, search.trusts, print)

    assert agents.directories == (search.cwd,)
    assert skills(search) == []

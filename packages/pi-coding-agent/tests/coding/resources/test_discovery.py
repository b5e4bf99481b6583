"""All resources together: the precedence of names, and what is not read without trust."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.base.records import replace
from pi.coding.resources.discovery import (
    ResourceLists,
    ResourceOptions,
    Resources,
    ResourceSearch,
    discover,
)
from tests.files import put

SKILL = "---\ndescription: d\n---\n{}"


@pytest.fixture
def where(tmp_path: Path) -> ResourceSearch:
    cwd, agent, home = (
        tmp_path / "home" / "work",
        tmp_path / "home" / ".pi/agent",
        tmp_path / "home",
    )
    for name, root in {
        "project": cwd / ".pi",
        "agents": cwd / ".agents",
        "user": agent,
        "home": home / ".agents",
        "listed": agent / "more",
    }.items():
        put(root / "skills" / "same" / "SKILL.md", SKILL.format(name))
        put(root / "skills" / name / "SKILL.md", SKILL.format(name))
        put(root / "prompts" / "same.md", name)
    put(cwd / "AGENTS.md", "secret plans")
    return ResourceSearch(
        cwd=cwd,
        agent_dir=agent,
        home=home,
        trusted=True,
        trusts=lambda folder: True,
        user=ResourceLists(
            base=agent, skills=("more/skills", "-skills/user"), prompts=("more/prompts",)
        ),
        project=ResourceLists(base=cwd / ".pi"),
    )


def same(resources: Resources) -> tuple[str, str]:
    [skill] = [each.skill for each in resources.skills if each.skill.name == "same"]
    [prompt] = [each for each in resources.prompts if each.name == "same"]
    return skill.content, prompt.content


@pytest.mark.behaviour("resource-precedence")
def test_project_beats_user_and_the_command_line_beats_all(
    where: ResourceSearch, tmp_path: Path
) -> None:
    put(tmp_path / "cli" / "same" / "SKILL.md", SKILL.format("cli"))
    put(tmp_path / "same.md", "cli")
    options = ResourceOptions(
        skill_paths=(str(tmp_path / "cli"),), prompt_paths=(str(tmp_path / "same.md"),)
    )

    assert same(discover(ResourceOptions(), where)) == ("project", "project")
    assert same(discover(options, where)) == ("cli", "cli")


def test_an_untrusted_project_is_not_read(where: ResourceSearch) -> None:
    closed = replace(where, trusted=False, trusts=lambda folder: False)
    resources = discover(ResourceOptions(), closed)

    assert same(resources) == ("user", "user")
    assert {each.source.scope for each in resources.skills} == {"user"}
    assert resources.context.files == ()


def test_settings_add_folders_and_leave_single_skills_out(where: ResourceSearch) -> None:
    names = {each.skill.name for each in discover(ResourceOptions(), where).skills}

    assert names == {"same", "project", "agents", "home", "listed"}


def test_a_missing_explicit_path_is_a_warning(where: ResourceSearch) -> None:
    user = ResourceLists(base=where.agent_dir, skills=("nowhere",))
    options = ResourceOptions(skill_paths=("/nosuch",), prompt_paths=("gone.md",))

    resources = discover(options, replace(where, user=user))

    assert [text for text in resources.warnings if "exist" in text] == [
        "Skill /nosuch does not exist.",
        f"Skill {where.agent_dir / 'nowhere'} does not exist.",
        f"Prompt template {where.cwd / 'gone.md'} does not exist.",
    ]


def test_an_excluded_prompt_does_not_hide_another_of_the_same_name(where: ResourceSearch) -> None:
    project = ResourceLists(
        base=where.cwd / ".pi", skills=("!same",), prompts=("-prompts/same.md",)
    )

    resources = discover(ResourceOptions(), replace(where, project=project))

    assert "same" not in {each.skill.name for each in resources.skills}
    assert [each.source.scope for each in resources.prompts if each.name == "same"] == ["user"]


def test_discovery_can_be_switched_off_and_explicit_paths_stay(
    where: ResourceSearch, tmp_path: Path
) -> None:
    put(tmp_path / "cli" / "mine" / "SKILL.md", SKILL.format("cli"))
    options = ResourceOptions(
        context_files=False, skills=False, prompts=False, skill_paths=(str(tmp_path / "cli"),)
    )
    resources = discover(options, where)

    assert [each.skill.name for each in resources.skills] == ["mine"]
    assert (resources.prompts, resources.context.files) == ((), ())


def test_the_base_folder_of_a_prompt_is_the_configuration_folder(where: ResourceSearch) -> None:
    put(where.agent_dir / "prompts" / "mine.md", "mine")
    put(where.cwd / ".pi" / "prompts" / "ours.md", "ours")

    prompts = discover(ResourceOptions(), where).prompts

    bases = {prompt.name: prompt.source.base_dir for prompt in prompts}
    assert (bases["mine"], bases["ours"]) == (str(where.agent_dir), str(where.cwd / ".pi"))

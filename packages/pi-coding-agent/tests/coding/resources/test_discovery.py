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
def search(tmp_path: Path) -> ResourceSearch:
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
    [skill] = [
        found_skill.skill for found_skill in resources.skills if found_skill.skill.name == "same"
    ]
    [prompt] = [template for template in resources.prompts if template.name == "same"]
    return skill.content, prompt.content


@pytest.mark.behaviour("resource-precedence")
def test_project_beats_user_and_the_command_line_beats_all(
    search: ResourceSearch, tmp_path: Path
) -> None:
    put(tmp_path / "cli" / "same" / "SKILL.md", SKILL.format("cli"))
    put(tmp_path / "same.md", "cli")
    options = ResourceOptions(
        skill_paths=(str(tmp_path / "cli"),), prompt_paths=(str(tmp_path / "same.md"),)
    )

    assert same(discover(ResourceOptions(), search)) == ("project", "project")
    assert same(discover(options, search)) == ("cli", "cli")


def test_an_untrusted_project_is_not_read(search: ResourceSearch) -> None:
    closed = replace(search, trusted=False, trusts=lambda folder: False)
    resources = discover(ResourceOptions(), closed)

    assert same(resources) == ("user", "user")
    assert {template.source.scope for template in resources.skills} == {"user"}
    assert resources.context.files == ()


def test_settings_add_folders_and_leave_single_skills_out(search: ResourceSearch) -> None:
    names = {found_skill.skill.name for found_skill in discover(ResourceOptions(), search).skills}

    assert names == {"same", "project", "agents", "home", "listed"}


def test_a_missing_explicit_path_is_a_warning(search: ResourceSearch) -> None:
    user = ResourceLists(base=search.agent_dir, skills=("nowhere",))
    options = ResourceOptions(skill_paths=("/nosuch",), prompt_paths=("gone.md",))

    resources = discover(options, replace(search, user=user))

    assert [text for text in resources.warnings if "exist" in text] == [
        "Skill /nosuch does not exist.",
        f"Skill {search.agent_dir / 'nowhere'} does not exist.",
        f"Prompt template {search.cwd / 'gone.md'} does not exist.",
    ]


def test_an_excluded_prompt_does_not_hide_another_of_the_same_name(search: ResourceSearch) -> None:
    project = ResourceLists(
        base=search.cwd / ".pi", skills=("!same",), prompts=("-prompts/same.md",)
    )

    resources = discover(ResourceOptions(), replace(search, project=project))

    assert "same" not in {found_skill.skill.name for found_skill in resources.skills}
    assert [template.source.scope for template in resources.prompts if template.name == "same"] == [
        "user"
    ]


def test_discovery_can_be_switched_off_and_explicit_paths_stay(
    search: ResourceSearch, tmp_path: Path
) -> None:
    put(tmp_path / "cli" / "mine" / "SKILL.md", SKILL.format("cli"))
    options = ResourceOptions(
        context_files=False, skills=False, prompts=False, skill_paths=(str(tmp_path / "cli"),)
    )
    resources = discover(options, search)

    assert [found_skill.skill.name for found_skill in resources.skills] == ["mine"]
    assert (resources.prompts, resources.context.files) == ((), ())


def test_the_base_folder_of_a_prompt_is_the_configuration_folder(search: ResourceSearch) -> None:
    put(search.agent_dir / "prompts" / "mine.md", "mine")
    put(search.cwd / ".pi" / "prompts" / "ours.md", "ours")

    prompts = discover(ResourceOptions(), search).prompts

    bases = {prompt.name: prompt.source.base_dir for prompt in prompts}
    assert (bases["mine"], bases["ours"]) == (str(search.agent_dir), str(search.cwd / ".pi"))

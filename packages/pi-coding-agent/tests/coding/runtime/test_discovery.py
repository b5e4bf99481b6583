"""The discovery functions of the SDK."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from pi.ai.auth.credentials import ApiKeyCredential
from pi.coding.runtime.discovery import (
    discover_auth_storage,
    discover_context_files,
    discover_models,
    discover_prompt_templates,
    discover_skills,
    local_environment,
)
from pi.coding.runtime.session_places import session_location
from pi.coding.settings.settings import Settings
from tests.files import put


class Folders:
    """Resources of a user and of a project."""

    def __init__(self, tmp_path: Path) -> None:
        self.agent_dir, self.cwd = tmp_path / "agent", tmp_path / "project"
        for base, word in ((self.agent_dir, "own"), (self.cwd / ".pi", "theirs")):
            for name, text in (
                (f"skills/{word}/SKILL.md", f"---\ndescription: {word}\n---\nText."),
                (f"prompts/{word}.md", word),
            ):
                path = base / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
        (self.agent_dir / "AGENTS.md").write_text("own")
        (self.cwd / "AGENTS.md").write_text("theirs")


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    return Folders(tmp_path)


@pytest.mark.parametrize(
    ("trusted", "expected"), [(False, {"own"}), (True, {"own", "theirs"})], ids=["not", "trusted"]
)
def test_resources_of_a_project_are_found_only_if_it_is_trusted(
    folders: Folders, trusted: bool, expected: set[str]
) -> None:
    cwd, agent_dir = folders.cwd, folders.agent_dir
    context = discover_context_files(cwd, agent_dir, trusted=trusted)
    skills = discover_skills(cwd, agent_dir, trusted=trusted)
    templates = discover_prompt_templates(cwd, agent_dir, trusted=trusted)

    assert {file.content for file in context} == expected
    assert {skill.name for skill in skills} == expected
    assert {template.name for template in templates} == expected


def test_an_invalid_skill_is_skipped_and_logged(
    folders: Folders, caplog: pytest.LogCaptureFixture
) -> None:
    (folders.agent_dir / "skills/own/SKILL.md").write_text("no description")
    with caplog.at_level(logging.WARNING):
        assert discover_skills(folders.cwd, folders.agent_dir) == ()

    assert "description is required" in caplog.text


async def test_models_are_found_with_the_credentials_of_the_agent_directory(
    folders: Folders,
) -> None:
    storage = discover_auth_storage(folders.agent_dir)
    await storage.set("openai", ApiKeyCredential(key="sk-1"))
    registry = discover_models(folders.cwd, folders.agent_dir)
    other = discover_models(folders.cwd, folders.agent_dir / "other")

    assert registry.has_auth("openai")
    assert not other.has_auth("openai")


def test_the_current_directory_and_the_environment_are_the_defaults(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folders.cwd)
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(folders.agent_dir))

    assert session_location().cwd == str(folders.cwd)
    assert (
        session_location().directory == session_location(folders.cwd, folders.agent_dir).directory
    )
    assert [skill.name for skill in discover_skills(trusted=True)] == ["theirs", "own"]
    monkeypatch.setenv("PI_CODING_AGENT_SESSION_DIR", "kept")
    assert session_location().directory == folders.cwd / "kept"


SKILL = "---\ndescription: of a list\n---\nText."


def test_resource_lists_of_the_settings_add_and_exclude_paths(folders: Folders) -> None:
    put(folders.cwd.parent / "more/listed/SKILL.md", SKILL)
    put(folders.cwd.parent / "prompts/listed.md", "Text.")
    put(
        folders.agent_dir / "settings.json",
        '{"skills": ["../more", "-skills/own/SKILL.md"], "prompts": ["../prompts", "!own.md"]}',
    )

    assert [skill.name for skill in discover_skills(folders.cwd, folders.agent_dir)] == ["listed"]
    templates = discover_prompt_templates(folders.cwd, folders.agent_dir)
    assert [template.name for template in templates] == ["listed"]


def test_settings_passed_as_an_argument_replace_the_settings_file(folders: Folders) -> None:
    put(folders.cwd.parent / "more/listed/SKILL.md", SKILL)
    put(folders.agent_dir / "settings.json", '{"skills": ["-skills/own/SKILL.md"]}')
    settings = Settings.in_memory({"skills": ["../more"]})

    skills = discover_skills(folders.cwd, folders.agent_dir, settings=settings)

    assert [skill.name for skill in skills] == ["own", "listed"]


def test_skills_of_packages_are_found(folders: Folders) -> None:
    put(folders.cwd.parent / "package/skills/packed/SKILL.md", SKILL)
    put(folders.agent_dir / "settings.json", '{"packages": ["../package"]}')

    skills = discover_skills(folders.cwd, folders.agent_dir)

    assert [skill.name for skill in skills] == ["own", "packed"]


@pytest.mark.parametrize(
    ("stored", "settings", "expected"),
    [
        ({}, {}, {"own"}),
        ({"/": True}, {}, {"own", "theirs"}),
        ({"/": False}, {"defaultProjectTrust": "always"}, {"own"}),
        ({}, {"defaultProjectTrust": "always"}, {"own", "theirs"}),
    ],
    ids=["nothing", "trusted", "refused", "always"],
)
def test_the_stored_trust_decision_applies_by_default(
    folders: Folders,
    stored: dict[str, bool],
    settings: dict[str, str],
    expected: set[str],
) -> None:
    put(folders.agent_dir / "trust.json", json.dumps(stored))
    put(folders.agent_dir / "settings.json", json.dumps(settings))
    context = discover_context_files(folders.cwd, folders.agent_dir)
    skills = discover_skills(folders.cwd, folders.agent_dir)

    assert {skill.name for skill in skills} == expected
    assert {file.content for file in context} == expected


async def test_the_local_environment_applies_settings_and_hides_secrets(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    put(folders.agent_dir / "settings.json", '{"shellCommandPrefix": "first=1"}')
    async with local_environment(folders.cwd, folders.agent_dir) as env:
        await env.write_file("new/file", b"text")
        ran = await env.exec('echo "$first [$ANTHROPIC_API_KEY] $(cat new/file)"')

    assert (ran.exit_code, ran.output) == (0, "1 [] text\n")

"""Discovery, one piece at a time."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from pi.ai.auth.credentials import ApiKeyCredential
from pi.coding.runtime.discovering import (
    discover_auth_storage,
    discover_context_files,
    discover_models,
    discover_prompt_templates,
    discover_skills,
    session_catalog,
    session_shelf,
)
from pi.coding.session.session_manager import SessionManager
from tests.coding.runtime.stage import Stage


class Folders:
    """What a person has, and what a project brings along."""

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
def test_of_a_project_only_what_is_trusted_is_found(
    folders: Folders, trusted: bool, expected: set[str]
) -> None:
    cwd, agent_dir = folders.cwd, folders.agent_dir
    context = discover_context_files(cwd, agent_dir, trusted=trusted)
    skills = discover_skills(cwd, agent_dir, trusted=trusted)
    templates = discover_prompt_templates(cwd, agent_dir, trusted=trusted)

    assert {file.content for file in context} == expected
    assert {skill.name for skill in skills} == expected
    assert {template.name for template in templates} == expected


def test_what_cannot_be_used_is_logged(folders: Folders, caplog: pytest.LogCaptureFixture) -> None:
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
    nobody = discover_models(folders.cwd, folders.agent_dir / "other")

    assert registry.has_auth("openai")
    assert not nobody.has_auth("openai")


def test_the_current_directory_and_the_environment_are_the_defaults(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folders.cwd)
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(folders.agent_dir))

    assert session_shelf().cwd == str(folders.cwd)
    assert session_shelf().directory == session_shelf(folders.cwd, folders.agent_dir).directory
    assert [skill.name for skill in discover_skills(trusted=True)] == ["theirs", "own"]
    monkeypatch.setenv("PI_CODING_AGENT_SESSION_DIR", "kept")
    assert session_shelf().directory == folders.cwd / "kept"


async def test_sessions_are_listed_and_gone_on_with(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    catalog = session_catalog(stage.agent_dir)
    shelf = session_shelf(stage.cwd, stage.agent_dir)
    fresh = SessionManager.continue_recent(catalog, shelf)
    fresh.close()

    assert SessionManager.list_sessions(catalog, str(stage.cwd)) == []
    assert fresh.get_session_dir() == shelf.directory

"""Resources that need trust are found by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.coding.trust import context_files, gated_in


def put(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x")
    return path


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    (tmp_path / "home" / "project").mkdir(parents=True)
    return tmp_path / "home" / "project"


@pytest.mark.parametrize(
    "name",
    [
        ".pi/settings.json",
        ".pi/extensions/x.py",
        ".pi/tools/x.py",
        ".pi/config.yml",
        ".pi/commands/x.md",
        ".claude/settings.json",
        ".codex/config.toml",
        ".gemini/commands/x.toml",
        "GEMINI.md",
        "opencode.json",
        ".github/copilot-instructions.md",
        ".cursorrules",
        ".pi/SYSTEM.md",
        ".env",
        "AGENTS.md",
        "CLAUDE.md",
        ".cursor/rules/x.mdc",
        ".clinerules",
        ".claude/skills/x/SKILL.md",
        ".codex/prompts/x.md",
    ],
)
def test_every_resource_of_a_project_requires_trust(cwd: Path, name: str) -> None:
    put(cwd / name)

    assert len(gated_in(cwd, home=cwd.parent)) == 1


def test_an_empty_folder_and_other_files_require_no_trust(cwd: Path) -> None:
    (cwd / ".pi").mkdir()
    put(cwd / ".pi" / "notes.txt")
    put(cwd / "agents.md")

    assert gated_in(cwd, home=cwd.parent) == ()


def test_resources_of_parent_directories_require_trust(cwd: Path) -> None:
    skills = put(cwd.parent.parent / ".agents" / "skills" / "x" / "SKILL.md").parent.parent
    context = put(cwd.parent / "AGENTS.md")

    assert gated_in(cwd, home=cwd.parent) == (skills, context)


@pytest.mark.behaviour("trust-uses-canonical-paths")
def test_skills_of_the_user_require_no_trust(cwd: Path) -> None:
    put(cwd.parent / ".agents" / "skills" / "x" / "SKILL.md")

    assert gated_in(cwd, home=cwd.parent) == ()
    assert gated_in(cwd.parent, home=cwd.parent) == ()


def test_rules_of_other_agents_in_the_home_folder_require_no_trust(cwd: Path) -> None:
    put(cwd.parent / ".claude" / "rules" / "x.md")
    put(cwd.parent / ".clinerules")

    assert gated_in(cwd, home=cwd.parent) == ()
    assert gated_in(cwd.parent, home=cwd.parent) == ()


def test_rules_above_a_project_require_trust(cwd: Path) -> None:
    rules = put(cwd.parent.parent / ".clinerules" / "x.md").parent

    assert gated_in(cwd, home=cwd.parent) == (rules,)


def test_a_broken_link_requires_trust(cwd: Path) -> None:
    (cwd / ".pi").mkdir()
    (cwd / ".pi" / "extensions").symlink_to("/nowhere/at/all")

    assert gated_in(cwd, home=cwd.parent) == (cwd / ".pi" / "extensions",)


def test_each_directory_has_one_context_file(tmp_path: Path) -> None:
    put(tmp_path / "CLAUDE.md")
    override = put(tmp_path / "AGENTS.override.md")
    put(tmp_path / "AGENTS.md")

    assert context_files([tmp_path]) == {tmp_path: override}


@pytest.mark.behaviour("context-files-load-once")
def test_a_directory_named_like_a_context_file_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").mkdir()

    assert context_files([tmp_path]) == {}

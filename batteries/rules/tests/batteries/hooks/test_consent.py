"""Hooks of projects and other agents run after consent to their content."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pi.ai.providers.faux import calls, says
from tests.base.processes.children import needs_posix_shell
from tests.batteries.hooks.hook_session import (
    Consenting,
    HookProject,
    group,
    hooked,
    results,
)
from tests.coding.extension_host.extension_session import extension_session
from tests.files import put

pytestmark = needs_posix_shell

STEPS = (calls("bash", command="echo hi"), says("ok"))


@pytest.fixture
def project(tmp_path: Path) -> HookProject:
    return HookProject(tmp_path)


async def outcome(tmp_path: Path, ui: Consenting, **options: Any) -> str:
    """The result of one command in a new session."""
    async with hooked(tmp_path, *STEPS, ui=ui, **options) as hosted:
        await hosted.session.prompt("go")
        [text] = results(hosted)
        return text


async def test_a_denied_hook_is_not_run_and_not_offered_again(
    tmp_path: Path, project: HookProject
) -> None:
    project.on("PreToolUse", "exit 2", "Bash")

    first, second = Consenting("Deny"), Consenting("Deny")
    assert await outcome(tmp_path, first) == "hi\n"
    assert await outcome(tmp_path, second) == "hi\n"

    assert len(first.questions) == 1
    assert "Run the hook PreToolUse" in first.questions[0]
    assert second.questions == []
    assert project.got == []


async def test_consent_is_requested_again_when_the_script_of_a_hook_has_changed(
    tmp_path: Path, project: HookProject
) -> None:
    project.on("PreToolUse", "echo first >&2; exit 2", "Bash")
    users = [Consenting(), Consenting(), Consenting("Deny"), Consenting()]

    assert await outcome(tmp_path, users[0]) == "first"
    assert await outcome(tmp_path, users[1]) == "first"
    project.script("hook0.sh", "echo second >&2; exit 2")  # as git pull does
    assert await outcome(tmp_path, users[2]) == "hi\n"
    project.write()
    settings = project.cwd / ".claude/settings.json"
    put(settings, settings.read_text().replace('"Bash"', '"Bash|Edit"'))
    assert await outcome(tmp_path, users[3]) == "second"

    assert [len(user.questions) for user in users] == [1, 0, 1, 1]


async def test_a_script_changed_during_the_session_is_not_run_without_consent(
    tmp_path: Path, project: HookProject
) -> None:
    script = project.on("PreToolUse", "exit 0", "Bash")
    change = f"echo 'touch {tmp_path}/stolen' >> {script}"
    ui = Consenting()

    steps = (calls("bash", command=change), calls("bash", command="echo hi"), says("ok"))
    async with hooked(tmp_path, *steps, ui=ui) as hosted:
        hosted.session.subscribe(lambda event: setattr(ui, "label", "Deny"))
        await hosted.session.prompt("go")

    assert len(ui.questions) == 2
    assert not (tmp_path / "stolen").exists()


async def test_hooks_of_the_user_for_claude_code_are_offered_once(
    tmp_path: Path, project: HookProject
) -> None:
    hooks = {"PreToolUse": [group("echo 'from home' >&2; exit 2", "Bash")]}
    put(project.home / ".claude/settings.json", json.dumps({"hooks": hooks}))
    users = [Consenting(), Consenting()]

    assert await outcome(tmp_path, users[0]) == "from home"
    assert await outcome(tmp_path, users[1]) == "from home"

    assert [len(user.questions) for user in users] == [1, 0]


async def test_own_hooks_run_without_a_question_unless_they_run_a_file_of_the_project(
    tmp_path: Path, project: HookProject
) -> None:
    own = {"PreToolUse": [group("echo mine >&2; exit 2", "bash")]}
    put(project.home / ".pi/agent/settings.json", json.dumps({"hooks": own}))
    ui = Consenting()
    assert await outcome(tmp_path, ui) == "mine"
    assert ui.questions == []

    put(project.cwd / "check.sh", "echo 'of the project' >&2; exit 2")
    own = {"PreToolUse": [group("sh ./check.sh", "bash")]}
    put(project.home / ".pi/agent/settings.json", json.dumps({"hooks": own}))
    assert await outcome(tmp_path, ui) == "of the project"
    assert len(ui.questions) == 1
    assert "check.sh" in ui.questions[0]


async def test_an_untrusted_project_has_no_hooks(tmp_path: Path, project: HookProject) -> None:
    from pi.batteries.hooks.adapter import extension

    project.on("PreToolUse", "exit 2", "Bash")
    ui = Consenting()
    async with extension_session(tmp_path, extension, steps=STEPS, approve=False, ui=ui) as hosted:
        await hosted.session.prompt("go")
        assert results(hosted) == ["hi\n"]

    assert ui.questions == []
    assert project.got == []


@pytest.mark.parametrize("settings", [{"hooks": False}, {"sources": {"claude": False}}])
async def test_a_setting_switches_hooks_off(
    tmp_path: Path, project: HookProject, settings: dict[str, Any]
) -> None:
    project.on("PreToolUse", "exit 2", "Bash")
    ui = Consenting()

    assert await outcome(tmp_path, ui, settings=settings) == "hi\n"
    assert ui.questions == []


async def test_a_project_does_not_switch_off_hooks_of_the_user(
    tmp_path: Path, project: HookProject
) -> None:
    own = {"PreToolUse": [group("echo mine >&2; exit 2", "bash")]}
    put(project.home / ".pi/agent/settings.json", json.dumps({"hooks": own}))
    put(project.cwd / ".pi/settings.json", '{"hooks": false}')
    put(project.cwd / ".claude/settings.json", '{"disableAllHooks": true}')

    assert await outcome(tmp_path, Consenting()) == "mine"

"""Unchanged hook scripts in the real program: print mode, JSON mode, RPC, a sub-session."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.base.processes.children import needs_posix_shell
from tests.batteries.hooks.hook_session import HookProject
from tests.cli.program import Program
from tests.stories.loopback_model import LoopbackModel, loopback_model

pytestmark = needs_posix_shell

MODEL = ("--model", "mock/echo-1", "--approve")
TOUCH = ("bash", {"command": "touch x"})


@pytest.fixture
def model() -> Iterator[LoopbackModel]:
    with loopback_model() as model:
        yield model


@pytest.fixture
def cli(tmp_path: Path, model: LoopbackModel) -> Program:
    program = Program.below(tmp_path)
    program.use_server(urlsplit(model.url).port or 0)
    return program


@pytest.fixture
def project(tmp_path: Path, cli: Program) -> HookProject:
    project = HookProject(tmp_path)
    project.cwd = cli.cwd
    return project


def allow_all(cli: Program) -> list[str]:
    """Allow every hook by answering the UI requests over RPC; returns their titles."""
    with cli.start(*MODEL, "--mode", "rpc") as child:
        assert child.stdin is not None and child.stdout is not None
        child.stdin.write(b'{"id": "1", "type": "prompt", "message": "hello"}\n')
        child.stdin.flush()
        titles = []
        for line in child.stdout:
            record = json.loads(line)
            if record["type"] == "extension_ui_request" and record["method"] == "select":
                titles.append(record["title"])
                answer = {"type": "extension_ui_response", "id": record["id"], "value": "Allow"}
                child.stdin.write(json.dumps(answer).encode() + b"\n")
                child.stdin.flush()
            elif record["type"] == "agent_settled":
                break
        child.stdin.close()
        child.wait(60)
    return titles


def use_all(project: HookProject) -> None:
    project.on("SessionStart", "echo 'branch: main'")
    project.on("UserPromptSubmit", "echo 'it is Monday'")
    project.on("PreToolUse", "grep -q touch RECORDS && echo 'no touching' >&2 && exit 2", "Bash")
    project.on("PostToolUse", 'echo \'{"decision": "block", "reason": "lint it"}\'', "Write")
    project.on("Stop", "grep -q stop_hook_active.:true RECORDS && exit 0; exit 2")


def test_without_consent_hooks_are_skipped_with_one_line(
    cli: Program, model: LoopbackModel, project: HookProject
) -> None:
    use_all(project)
    model.tools = [TOUCH]

    ended = cli.run(*MODEL, "-p", "go")

    assert (ended.code, ended.out) == (0, "All is well.\n")
    assert ended.err.count("\n") == 1
    assert ended.err.startswith("Skipped hook SessionStart")
    assert project.got == []
    assert (cli.cwd / "x").exists()


def test_consent_given_over_rpc_applies_to_all_modes(
    cli: Program, model: LoopbackModel, project: HookProject
) -> None:
    use_all(project)
    titles = allow_all(cli)
    assert len(titles) == 5
    assert all(text.startswith("Run the hook ") for text in titles)
    first = model.requests[0]
    assert "branch: main" in first and "it is Monday" in first

    project.records.unlink()
    model.tools = [TOUCH, ("write", {"path": "a.txt", "content": "a"})]
    ended = cli.run(*MODEL, "-p", "go")
    assert ended == (0, "All is well.\n", "")
    assert not (cli.cwd / "x").exists()
    assert "no touching" in model.requests[-1]
    assert "lint it" in model.requests[-1]
    assert "Stop hook: A Stop hook blocked this without giving a reason." in model.requests[-1]
    events = [got["hook_event_name"] for got in project.got]
    assert events == [
        *("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "Stop"),
    ]

    project.records.unlink()
    model.tools = [TOUCH]
    json_mode = cli.run(*MODEL, "--mode", "json", "go")
    assert json_mode.code == 0
    assert "no touching" in json_mode.out


@pytest.mark.full
def test_a_changed_hook_is_skipped_until_it_is_allowed_again(
    cli: Program, model: LoopbackModel, project: HookProject
) -> None:
    project.on("PreToolUse", "exit 2", "Bash")
    assert len(allow_all(cli)) == 1
    project.script("hook0.sh", f"touch {cli.cwd}/stolen")
    model.tools = [TOUCH]

    ended = cli.run(*MODEL, "-p", "go")

    assert "Skipped hook PreToolUse" in ended.err
    assert not (cli.cwd / "stolen").exists()
    assert (cli.cwd / "x").exists()
    assert len(allow_all(cli)) == 1


@pytest.mark.full
def test_a_blocked_prompt_ends_print_mode_with_its_reason(
    cli: Program, model: LoopbackModel, project: HookProject
) -> None:
    project.on("UserPromptSubmit", "grep -q secret RECORDS && echo 'no secrets' >&2 && exit 2")
    assert len(allow_all(cli)) == 1
    before = len(model.requests)

    ended = cli.run(*MODEL, "-p", "my secret")

    assert ended.code == 1
    assert "no secrets" in ended.err
    assert len(model.requests) == before


@pytest.mark.full
def test_a_blocked_prompt_is_a_notice_in_rpc(
    cli: Program, model: LoopbackModel, project: HookProject
) -> None:
    project.on("UserPromptSubmit", "grep -q secret RECORDS && echo 'no secrets' >&2 && exit 2")
    assert len(allow_all(cli)) == 1
    before = len(model.requests)

    with cli.start(*MODEL, "--mode", "rpc") as child:
        assert child.stdin is not None and child.stdout is not None
        child.stdin.write(b'{"id": "1", "type": "prompt", "message": "a secret"}\n')
        child.stdin.flush()
        records = map(json.loads, child.stdout)
        notice = next(record for record in records if record.get("method") == "notify")
        child.stdin.close()
        child.wait(60)

    assert notice["message"] == "no secrets"
    assert len(model.requests) == before


@pytest.mark.full
def test_failing_and_missing_hooks_block_nothing_and_are_named(
    cli: Program, model: LoopbackModel, project: HookProject
) -> None:
    project.run("PreToolUse", "python3 .claude/hooks/gone.py", "Bash")
    project.run("PreToolUse", "exit 3", "Bash")
    allow_all(cli)
    model.tools = [TOUCH]

    ended = cli.run(*MODEL, "-p", "go")

    assert (ended.code, ended.out) == (0, "All is well.\n")
    assert (cli.cwd / "x").exists()
    warnings = sorted(ended.err.splitlines())
    assert warnings[0].startswith("Warning: The PreToolUse hook `exit 3` failed with exit code 3")
    assert "gone.py does not exist" in warnings[1]


SUB_AGENT = """
def extension(pi):
    from pi.extension import SubSession, Text, ToolResult

    @pi.tool
    async def delegate(task: str) -> str:
        \"\"\"Delegate a task.\"\"\"
        handle = await pi.sub_session(SubSession(prompt=task))
        answer = await handle.result()
        return answer.text
"""


@pytest.mark.full
def test_hooks_run_in_a_sub_session(
    cli: Program, model: LoopbackModel, project: HookProject
) -> None:
    project.on("PreToolUse", "exit 2", "Bash")
    project.on("SubagentStart", "echo 'be brief'")
    project.on("SubagentStop", "grep -q stop_hook_active.:true RECORDS && exit 0; exit 2")
    allow_all(cli)
    cli.write("extensions/delegate.py", SUB_AGENT)
    model.tools = [("delegate", {"task": "work"}), TOUCH]

    ended = cli.run(*MODEL, "-p", "go")

    assert (ended.code, ended.err) == (0, "")
    assert not (cli.cwd / "x").exists()
    events = [got["hook_event_name"] for got in project.got]
    assert events == ["SubagentStart", "PreToolUse", "SubagentStop", "SubagentStop"]
    assert any("be brief" in request for request in model.requests)


@pytest.mark.full
@pytest.mark.timeout(300)  # three hooks, one after the other
def test_a_hook_that_takes_45_seconds_is_not_timed_out(
    cli: Program, model: LoopbackModel, project: HookProject
) -> None:
    slow = f"[ -e {cli.home}/armed ] && sleep 45;"
    project.on("PreToolUse", f"{slow} echo 'late no' >&2; exit 2", "Bash")
    project.on("UserPromptSubmit", f"{slow} echo 'late context'", timeout=60)
    project.on("Stop", f"{slow} exit 0")
    allow_all(cli)
    (cli.home / "armed").touch()
    model.tools = [TOUCH]

    with cli.start(*MODEL, "-p", "go") as child:
        out, _ = child.communicate(timeout=300)

    assert out == b"All is well.\n"
    assert not (cli.cwd / "x").exists()
    assert "late no" in model.requests[-1]
    assert "late context" in model.requests[-1]

"""Hook scripts of Claude Code in real sessions, with a script in place of a model."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pi.agent.compaction.errors import CompactionFailed
from pi.agent.errors import PromptRefused
from pi.ai.messages import UserMessage
from pi.ai.providers.faux import calls, says
from pi.extension import CommandContext, ExtensionAPI, SubSession, TaskOptions
from tests.base.processes.children import needs_posix_shell
from tests.batteries.hooks.hook_session import (
    Consenting,
    HookProject,
    added,
    hooked,
    results,
)
from tests.files import put
from tests.modes.pipes import until

pytestmark = needs_posix_shell

KEEP_LITTLE = {"compaction": {"keepRecentTokens": 100}}


@pytest.fixture
def project(tmp_path: Path) -> HookProject:
    return HookProject(tmp_path)


async def test_exit_2_blocks_the_call_and_the_model_reads_the_reason(
    tmp_path: Path, project: HookProject
) -> None:
    project.on("PreToolUse", "echo 'no rm here' >&2; exit 2", "Bash")

    async with hooked(tmp_path, calls("bash", command="touch x"), says("ok")) as hosted:
        await hosted.session.prompt("go")
        assert results(hosted) == ["no rm here"]

    assert not (project.cwd / "x").exists()
    [got] = project.got
    assert got["tool_name"] == "Bash"
    assert got["tool_input"] == {"command": "touch x"}
    assert got["hook_event_name"] == "PreToolUse"
    assert got["cwd"] == str(project.cwd)
    assert got["session_id"]
    assert got["transcript_path"].endswith(".jsonl")


async def test_exit_2_without_a_reason_blocks_as_well(tmp_path: Path, project: HookProject) -> None:
    project.on("PreToolUse", "exit 2", "Bash|Edit")

    async with hooked(tmp_path, calls("bash", command="touch x"), says("ok")) as hosted:
        await hosted.session.prompt("go")
        assert results(hosted) == ["A PreToolUse hook blocked this without giving a reason."]

    assert not (project.cwd / "x").exists()


async def test_a_matcher_that_matches_no_tool_name_runs_no_hook(
    tmp_path: Path, project: HookProject
) -> None:
    project.on("PreToolUse", "exit 2", "Write|Edit")
    project.on("PreToolUse", "exit 2", "mcp__.*")

    async with hooked(tmp_path, calls("bash", command="echo hi"), says("ok")) as hosted:
        await hosted.session.prompt("go")
        assert results(hosted) == ["hi\n"]

    assert project.got == []


async def test_updated_input_replaces_the_arguments_of_the_call(
    tmp_path: Path, project: HookProject
) -> None:
    answer = {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "allow",
            "updatedInput": {"file_path": str(project.cwd / "b.txt"), "content": "changed"},
        }
    }
    project.on("PreToolUse", f"echo '{json.dumps(answer)}'", "Write")

    steps = (calls("write", path="a.txt", content="first"), says("ok"))
    async with hooked(tmp_path, *steps) as hosted:
        await hosted.session.prompt("go")

    assert project.got[0]["tool_input"]["file_path"] == str(project.cwd / "a.txt")
    assert not (project.cwd / "a.txt").exists()
    assert (project.cwd / "b.txt").read_text() == "changed"


@pytest.mark.parametrize(("agrees", "exists"), [(True, True), (False, False)])
async def test_the_ask_decision_opens_a_confirmation_dialog(
    tmp_path: Path, project: HookProject, *, agrees: bool, exists: bool
) -> None:
    answer = {"hookSpecificOutput": {"permissionDecision": "ask", "permissionDecisionReason": "?"}}
    project.on("PreToolUse", f"echo '{json.dumps(answer)}'", "Bash")
    ui = Consenting(agrees=agrees)

    async with hooked(tmp_path, calls("bash", command="touch x"), says("ok"), ui=ui) as hosted:
        await hosted.session.prompt("go")

    assert ("confirm", "Allow bash?", "?\ntouch x") in ui.seen
    assert (project.cwd / "x").exists() is exists


async def test_context_of_pre_and_post_hooks_is_in_the_result(
    tmp_path: Path, project: HookProject
) -> None:
    for event, text in (("PreToolUse", "before"), ("PostToolUse", "after")):
        answer = {"hookSpecificOutput": {"additionalContext": text}}
        project.on(event, f"echo '{json.dumps(answer)}'", "Bash")
    project.on("PostToolUse", "echo 'lint: 2 errors' >&2; exit 2", "Bash")

    async with hooked(tmp_path, calls("bash", command="echo hi"), says("ok")) as hosted:
        await hosted.session.prompt("go")
        [text] = results(hosted)

    assert text.splitlines() == ["hi", "", "before", "after", "PostToolUse hook: lint: 2 errors"]
    posts = [got for got in project.got if got["hook_event_name"] == "PostToolUse"]
    assert posts[0]["tool_response"]["stdout"] == "hi\n"


async def test_a_failed_call_runs_the_hooks_of_failures(
    tmp_path: Path, project: HookProject
) -> None:
    project.on("PostToolUse", "exit 2")
    project.on("PostToolUseFailure", "echo 'try harder' >&2; exit 2")

    async with hooked(tmp_path, calls("read", path="missing"), says("ok")) as hosted:
        await hosted.session.prompt("go")
        assert results(hosted)[0].endswith("PostToolUseFailure hook: try harder")

    [got] = project.got
    assert (got["hook_event_name"], got["tool_name"]) == ("PostToolUseFailure", "Read")
    assert "missing" in got["error"]


async def test_continue_false_ends_the_run(tmp_path: Path, project: HookProject) -> None:
    project.on("PreToolUse", """echo '{"continue": false, "stopReason": "budget spent"}'""")

    async with hooked(tmp_path, calls("bash", command="touch x"), says("never")) as hosted:
        await hosted.session.prompt("go")
        assert results(hosted) == ["budget spent"]
        assert len(hosted.fixture.provider.requests) == 1


async def test_a_blocked_prompt_reaches_no_model_and_is_not_stored(
    tmp_path: Path, project: HookProject
) -> None:
    project.on("UserPromptSubmit", "grep -q secret RECORDS && echo 'no secrets' >&2 && exit 2")

    async with hooked(tmp_path, says("fine")) as hosted:
        with pytest.raises(PromptRefused, match="no secrets"):
            await hosted.session.prompt("my secret")
        assert hosted.fixture.provider.requests == []
        assert not any("secret" in str(m) for m in hosted.session.messages)

    assert project.got[0]["prompt"] == "my secret"


async def test_plain_output_of_prompt_and_session_start_hooks_is_context(
    tmp_path: Path, project: HookProject
) -> None:
    project.on("SessionStart", "echo 'branch: main'", "startup")
    project.on("SessionStart", "echo 'never'", "resume")
    project.on("UserPromptSubmit", "echo 'today is Monday'")

    async with hooked(tmp_path, says("ok")) as hosted:
        await hosted.session.prompt("go")
        assert added(hosted) == ["branch: main", "today is Monday"]
        request = str(hosted.fixture.provider.requests[0])

    assert "branch: main" in request
    assert "today is Monday" in request
    assert project.got[0]["source"] == "startup"


async def test_a_blocking_stop_hook_continues_the_run_and_receives_stop_hook_active(
    tmp_path: Path, project: HookProject
) -> None:
    active = """grep -q '"stop_hook_active":true' RECORDS"""
    project.on("Stop", f"{active} && exit 0; echo 'run the tests' >&2; exit 2")

    async with hooked(tmp_path, says("done"), says("tested")) as hosted:
        await hosted.session.prompt("go")
        assert added(hosted) == ["Stop hook: run the tests"]

    assert [got["stop_hook_active"] for got in project.got] == [False, True]
    assert [got["last_assistant_message"] for got in project.got] == ["done", "tested"]


async def test_a_stop_hook_that_always_blocks_is_overridden(
    tmp_path: Path, project: HookProject
) -> None:
    project.on("Stop", "exit 2")
    ui = Consenting()

    async with hooked(tmp_path, *(says(str(n)) for n in range(20)), ui=ui) as hosted:
        await hosted.session.prompt("go")

    assert len(project.got) == 9
    assert any("blocked 8 times in a row" in notice for notice in ui.notices)


@pytest.mark.parametrize(
    ("command", "notice"),
    [
        ("python3 .claude/hooks/gone.py", "gone.py does not exist."),
        ('"$CLAUDE_PROJECT_DIR"/.claude/hooks/gone.sh', "gone.sh does not exist."),
        ("no-such-program-here", "was not found or cannot be executed (exit code 127)"),
        ("echo oops >&2; exit 1", "failed with exit code 1: oops."),
        ("echo '{broken'", "printed invalid JSON"),
        ("kill -9 $$", "was ended by a signal."),
    ],
)
async def test_a_hook_that_does_not_work_blocks_nothing_and_is_reported(
    tmp_path: Path, project: HookProject, command: str, notice: str
) -> None:
    project.run("PreToolUse", command, "Bash")
    ui = Consenting()

    async with hooked(tmp_path, calls("bash", command="echo hi"), says("ok"), ui=ui) as hosted:
        await hosted.session.prompt("go")
        assert results(hosted) == ["hi\n"]

    assert any(notice in notice_text for notice_text in ui.notices), ui.notices


async def test_a_hook_is_stopped_after_its_timeout(tmp_path: Path, project: HookProject) -> None:
    project.run("PreToolUse", "sleep 60", "Bash", timeout=0.2)
    ui = Consenting()

    async with hooked(tmp_path, calls("bash", command="echo hi"), says("ok"), ui=ui) as hosted:
        await hosted.session.prompt("go")
        assert results(hosted) == ["hi\n"]

    assert any("did not end within 0.2 seconds" in notice for notice in ui.notices)


async def test_variables_of_a_session_start_hook_reach_commands(
    tmp_path: Path, project: HookProject
) -> None:
    lines = """export STAGE="a b"; export PATH="$PATH:/x" """
    project.run("SessionStart", f"""echo '{lines}' >> "$CLAUDE_ENV_FILE" """)

    steps = (calls("bash", command='echo "$STAGE" "${PATH##*:}"'), says("ok"))
    async with hooked(tmp_path, *steps) as hosted:
        await hosted.session.prompt("go")
        assert results(hosted) == ["a b /x\n"]


async def test_an_async_hook_is_not_waited_for_and_its_context_follows(
    tmp_path: Path, project: HookProject
) -> None:
    go = tmp_path / "go"
    answer = '{"hookSpecificOutput": {"additionalContext": "late news"}}'
    project.run(
        "PreToolUse",
        f"until [ -e {go} ]; do sleep 0.02; done; echo '{answer}'; touch {go}2",
        "Bash",
        **{"async": True},
    )
    wait = f"touch {go}; until [ -e {go}2 ]; do sleep 0.02; done; sleep 0.1"

    steps = (calls("bash", command=wait), calls("bash", command="echo b"), says("ok"))
    async with hooked(tmp_path, *steps) as hosted:
        await hosted.session.prompt("go")
        assert "late news" in added(hosted)


@pytest.mark.behaviour("rpc-uses-the-same-hooks")
async def test_a_message_during_a_run_passes_the_same_hooks(
    tmp_path: Path, project: HookProject
) -> None:
    project.on("UserPromptSubmit", "tail -n 1 RECORDS | grep -q secret && exit 2; exit 0")
    ready, go = tmp_path / "ready", tmp_path / "go"
    wait = f"touch {ready}; until [ -e {go} ]; do sleep 0.02; done"

    async with hooked(tmp_path, calls("bash", command=wait), says("ok")) as hosted:
        run = asyncio.ensure_future(hosted.session.prompt("go"))
        await until(ready.exists)
        await hosted.session.prompts.steer("a secret")
        await hosted.session.prompts.steer("a hint")
        go.touch()
        await run
        messages = [str(m) for m in hosted.session.messages if isinstance(m, UserMessage)]

    assert ["a hint" in text for text in messages] == [False, True]
    assert [got["prompt"] for got in project.got] == ["go", "a secret", "a hint"]


async def test_hooks_run_for_a_sub_session_and_its_calls(
    tmp_path: Path, project: HookProject
) -> None:
    project.on("PreToolUse", "echo 'not here' >&2; exit 2", "Bash")
    project.on("SubagentStart", "echo 'be brief'")
    project.on("SubagentStop", "grep -q stop_hook_active.:true RECORDS && exit 0; exit 2")
    opened: list[Any] = []

    def starts_one(pi: ExtensionAPI) -> None:
        @pi.command("delegate")
        async def delegate(args: str, ctx: CommandContext) -> None:
            task = TaskOptions(agent="scout")
            spec = SubSession(prompt="work", extensions="all", task=task)
            handle = await pi.sub_session(spec)
            await handle.result()
            opened.append(handle)

    steps = (calls("bash", command="touch x"), says("done"), says("really done"))
    async with hooked(tmp_path, *steps, extensions=(starts_one,)) as hosted:
        await hosted.session.prompt("/delegate")
        [handle] = opened
        texts = "\n".join(map(str, handle.messages))

    assert "not here" in texts
    assert "be brief" in texts
    assert not (project.cwd / "x").exists()
    kinds = [got["hook_event_name"] for got in project.got]
    assert kinds == ["SubagentStart", "PreToolUse", "SubagentStop", "SubagentStop"]
    assert [got.get("agent_type") for got in project.got] == ["scout", None, "scout", "scout"]


async def test_compactions_and_the_end_of_a_session_run_their_hooks(
    tmp_path: Path, project: HookProject
) -> None:
    for event in ("PreCompact", "PostCompact", "SessionStart", "SessionEnd"):
        project.on(event, "exit 0")

    steps = (says("a " * 4000), says("b " * 4000), says("summary"), says("summary"))
    async with hooked(tmp_path, *steps, settings=KEEP_LITTLE) as hosted:
        await hosted.session.prompt("go")
        await hosted.session.prompt("on")
        await hosted.session.compaction.compact("keep names")

    got = {
        (payload["hook_event_name"], payload.get("source", "")): payload for payload in project.got
    }
    assert [*got] == [
        *(("SessionStart", "startup"), ("PreCompact", ""), ("PostCompact", "")),
        *(("SessionStart", "compact"), ("SessionEnd", "")),
    ]
    assert got["PreCompact", ""]["trigger"] == "manual"
    assert got["PreCompact", ""]["custom_instructions"] == "keep names"
    assert "summary" in got["PostCompact", ""]["compact_summary"]


async def test_a_hook_can_block_a_compaction(tmp_path: Path, project: HookProject) -> None:
    project.on("PreCompact", "echo 'not now' >&2; exit 2", "manual")
    ui = Consenting()

    steps = (says("a " * 4000), says("b " * 4000))
    async with hooked(tmp_path, *steps, ui=ui, settings=KEEP_LITTLE) as hosted:
        await hosted.session.prompt("go")
        await hosted.session.prompt("on")
        with pytest.raises(CompactionFailed):
            await hosted.session.compaction.compact("")

    assert "not now" in ui.notices


async def test_a_dialog_runs_notification_hooks(tmp_path: Path, project: HookProject) -> None:
    project.on("Notification", "exit 0", "permission_prompt")

    def asks(pi: ExtensionAPI) -> None:
        @pi.command("ask")
        async def ask(args: str, ctx: CommandContext) -> None:
            await ctx.ui.confirm("Deploy?", "to production")

    async with hooked(tmp_path, extensions=(asks,)) as hosted:
        await hosted.session.prompt("/ask")
        await until(lambda: bool(project.got))

    assert project.got[0]["message"] == "Deploy? to production"


async def test_scripts_in_the_folders_of_pi_run_without_settings(
    tmp_path: Path, project: HookProject
) -> None:
    put(tmp_path / "home/.pi/agent/hooks/pre/bash.sh", "echo 'mine says no' >&2; exit 2")
    ui = Consenting()

    async with hooked(tmp_path, calls("bash", command="touch x"), says("ok"), ui=ui) as hosted:
        await hosted.session.prompt("go")
        assert results(hosted) == ["mine says no"]

    assert ui.questions == []


async def test_a_hook_that_takes_45_seconds_is_not_ended(
    tmp_path: Path, project: HookProject
) -> None:
    go = tmp_path / "go"
    for event in ("UserPromptSubmit", "PreToolUse", "Stop"):
        wait = f"until [ -e {go}-{event} ]; do sleep 0.02; done"
        code = 2 if event == "PreToolUse" else 0
        project.on(event, f"{wait}; echo late >&2; exit {code}")

    def has_begun(event: str) -> bool:
        return event in project.records.read_text() if project.records.exists() else False

    async with hooked(tmp_path, calls("bash", command="touch x"), says("ok")) as hosted:
        run = asyncio.ensure_future(hosted.session.prompt("go"))
        for event in ("UserPromptSubmit", "PreToolUse", "Stop"):
            await until(partial(has_begun, event))
            await hosted.fixture.clock.advance(45)
            Path(f"{go}-{event}").touch()
        await run
        assert results(hosted) == ["late"]
        assert hosted.failures == []


async def test_a_minute_without_input_runs_notification_hooks(
    tmp_path: Path, project: HookProject
) -> None:
    project.on("Notification", "exit 0", "idle_prompt")

    async with hooked(tmp_path, says("ok")) as hosted:
        await hosted.session.prompt("go")
        await hosted.fixture.clock.advance(59)
        assert project.got == []
        await hosted.fixture.clock.advance(2)
        await until(lambda: bool(project.got))

    assert project.got[0]["notification_type"] == "idle_prompt"

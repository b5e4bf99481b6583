"""Stream rules and the rulebook in the real program: print mode, JSON mode, RPC."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.cli.program import Program
from tests.files import put
from tests.sampling import sampled
from tests.stories.loopback_model import LoopbackModel, loopback_model

MODEL = ("--model", "mock/echo-1")
NO_VERIFY = ("bash", {"command": "git commit --no-verify -m x"})
ON = {"retry": {"enabled": False}, "ttsr": {"enabled": True}, "rulebook": {"enabled": True}}
TABS = "---\nalwaysApply: true\n---\nAlways use tabs."


@pytest.fixture
def model() -> Iterator[LoopbackModel]:
    with loopback_model() as model:
        yield model


@pytest.fixture
def cli(tmp_path: Path, model: LoopbackModel) -> Program:
    program = Program.below(tmp_path)
    program.use_server(urlsplit(model.url).port or 0)
    program.write("settings.json", json.dumps(ON))
    return program


def test_print_mode_prints_the_second_answer_only(cli: Program, model: LoopbackModel) -> None:
    model.tools = [NO_VERIFY]

    ended = cli.run(*MODEL, "-p", "commit it")

    assert ended == (0, "All is well.\n", "")
    assert "system-interrupt" in model.requests[1]
    assert "git commit" not in model.requests[1]
    (lines,) = cli.sessions()
    kinds = [line.get("customType") for line in lines if line.get("customType")]
    assert kinds == ["ttsr-injection", "ttsr_injection"]


@pytest.mark.full
def test_json_mode_has_the_event_and_the_interrupt(cli: Program, model: LoopbackModel) -> None:
    model.tools = [NO_VERIFY]

    ended = cli.run(*MODEL, "--mode", "json", "commit it")

    events = [json.loads(line) for line in ended.out.splitlines()]
    (event,) = [event for event in events if event["type"] == "extension_event"]
    assert event["name"] == "ttsr_triggered"
    assert [rule["name"] for rule in event["data"]["rules"]] == ["no-verify"]
    answers = [
        event["message"]
        for event in events
        if event["type"] == "message_end" and event["message"]["role"] == "assistant"
    ]
    assert [answer["stopReason"] for answer in answers] == ["aborted", "stop"]
    assert answers[0]["interrupt"]["by"] == "stream_rules"
    assert [event["type"] for event in events].count("agent_start") == 1
    assert "tool_execution_start" not in [event["type"] for event in events]
    assert ended.code == 0


def test_rpc_has_the_event_and_a_notice(cli: Program, model: LoopbackModel) -> None:
    model.tools = [NO_VERIFY]
    child = cli.start(*MODEL, "--mode", "rpc")
    assert child.stdin is not None and child.stdout is not None
    with child:
        child.stdin.write(b'{"type": "prompt", "message": "commit it"}\n')
        child.stdin.flush()
        records = []
        for line in child.stdout:
            records.append(json.loads(line))
            if records[-1]["type"] == "agent_settled":
                break
        child.stdin.close()
        child.wait(30)

    assert [record["name"] for record in records if record["type"] == "extension_event"] == [
        "ttsr_triggered"
    ]
    notices = [record["message"] for record in records if record.get("method") == "notify"]
    assert notices == ["Rule no-verify interrupted the answer; the model answers again."]


@pytest.mark.full
def test_a_continued_session_does_not_send_the_rule_again(
    cli: Program, model: LoopbackModel
) -> None:
    model.tools = [NO_VERIFY]
    cli.run(*MODEL, "-p", "commit it")
    model.tools = [NO_VERIFY]

    ended = cli.run(*MODEL, "-c", "-p", "commit it again")

    assert ended.code == 0
    (lines,) = cli.sessions()
    assert [line.get("customType") for line in lines].count("ttsr_injection") == 1


@pytest.mark.full
def test_the_rulebook_is_in_the_request_and_the_command_prints_the_rules(
    cli: Program, model: LoopbackModel
) -> None:
    put(cli.cwd / ".cursorrules", "Of old Cursor.")
    put(cli.cwd / ".pi/rules/tabs.md", TABS)

    answered = cli.run(*MODEL, "--approve", "-p", "hello")
    printed = cli.run(*MODEL, "--approve", "-p", "/rules")

    assert answered == (0, "All is well.\n", "")
    assert "<always_rules>" in model.requests[0]
    assert "Always use tabs.\\n\\nOf old Cursor." in model.requests[0]
    assert printed.code == 0
    assert "tabs: alwaysApply (pi, project, .pi/rules/tabs.md)" in printed.out
    assert "cursorrules: alwaysApply (cursor, project, .cursorrules)" in printed.out
    assert "no-verify: Hooks of git are not skipped. (builtin-defaults)" in printed.out
    assert len(model.requests) == 1


@pytest.mark.parametrize("name", sampled([".cursorrules", ".windsurfrules"], keep=1))
def test_a_project_with_only_an_old_rules_file_needs_trust(
    cli: Program, model: LoopbackModel, name: str
) -> None:
    put(cli.cwd / name, "Of the project.")

    ended = cli.run(*MODEL, "-p", "hello")

    assert ended.code == 0
    assert "Of the project." not in model.requests[0]
    assert name in ended.err


@pytest.mark.full
def test_without_rulebook_and_stream_rules_no_rule_is_sent_or_enforced(
    cli: Program, model: LoopbackModel
) -> None:
    put(cli.cwd / ".pi/rules/tabs.md", TABS)
    cli.write("settings.json", json.dumps({"retry": {"enabled": False}}))
    model.tools = [("bash", {"command": "echo git commit --no-verify"})]

    ended = cli.run(*MODEL, "--approve", "-p", "hello")

    assert ended == (0, "All is well.\n", "")
    assert "tabs" not in model.requests[0]
    assert "git commit --no-verify" in model.requests[1]

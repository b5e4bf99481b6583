"""Permissions and secrets in the real program: print mode and RPC."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.cli.program import Program
from tests.stories.loopback_model import LoopbackModel, loopback_model

MODEL = ("--model", "mock/echo-1")
TOUCH = ("bash", {"command": "touch made.txt"})
SECRET = "correct-horse-battery"


@pytest.fixture
def model() -> Iterator[LoopbackModel]:
    with loopback_model() as model:
        yield model


@pytest.fixture
def cli(tmp_path: Path, model: LoopbackModel) -> Program:
    program = Program.below(tmp_path)
    program.use_server(urlsplit(model.url).port or 0)
    return program


def test_print_mode_denies_calls_that_need_confirmation(cli: Program, model: LoopbackModel) -> None:
    model.tools = [TOUCH]

    ended = cli.run(*MODEL, "--permission-mode", "ask", "-p", "go")

    assert ended == (0, "All is well.\n", "")
    assert "needs the consent of the user" in model.requests[1]
    assert not (cli.cwd / "made.txt").exists()


def test_rpc_requests_confirmation_with_a_ui_request(cli: Program, model: LoopbackModel) -> None:
    model.tools = [TOUCH]
    child = cli.start(*MODEL, "--permission-mode", "ask", "--mode", "rpc")
    assert child.stdin is not None and child.stdout is not None
    asked = []
    with child:
        child.stdin.write(b'{"type": "prompt", "message": "go"}\n')
        child.stdin.flush()
        for line in child.stdout:
            record = json.loads(line)
            if record.get("method") == "select":
                asked.append(record["title"])
                answer = {
                    "type": "extension_ui_response",
                    "id": record["id"],
                    "value": "Allow once",
                }
                child.stdin.write(json.dumps(answer).encode() + b"\n")
                child.stdin.flush()
            if record["type"] == "agent_settled":
                break
        child.stdin.close()
        child.wait(30)

    assert asked == ["Allow bash?\n\ntouch made.txt"]
    assert (cli.cwd / "made.txt").exists()


def test_a_secret_of_the_environment_is_in_the_session_and_not_in_the_request(
    cli: Program, model: LoopbackModel
) -> None:
    cli.write("settings.json", json.dumps({"secrets": {"enabled": True}}))
    cli.environ["MY_SERVICE_PASSWORD"] = SECRET
    model.tools = [("bash", {"command": f"echo {SECRET}; exit 3"})]

    ended = cli.run(*MODEL, "-p", f"my password is {SECRET}")
    shown = cli.run(*MODEL, "-p", "/secrets")

    assert ended == (0, "All is well.\n", "")
    assert len(model.requests) == 2
    assert all(SECRET not in request for request in model.requests)
    assert all("$env:S" in request for request in model.requests)
    (lines, *_) = cli.sessions()
    assert SECRET in json.dumps(lines)
    assert "variable MY_SERVICE_PASSWORD: value, obfuscate" in shown.out
    assert SECRET not in shown.out
    logs = [path.read_text() for path in cli.agent_dir.glob("*.log")]
    assert SECRET not in "".join(logs)

"""A discovered local model server is used only after the user has chosen it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.program import Ended, Program
from tests.sampling import sampled
from tests.stories.loopback_model import LoopbackModel, loopback_model

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="not Linux; not tested: owners of sockets"
)
CHOSEN = "local-servers.json"


@pytest.fixture
def model() -> Iterator[LoopbackModel]:
    """A server on the port of vLLM."""
    with loopback_model() as listening:
        listening.listed = ["first", "second"]
        yield listening


@pytest.fixture
def cli(tmp_path: Path, model: LoopbackModel) -> Program:
    """A user without API keys."""
    return Program.below(tmp_path, VLLM_BASE_URL=model.url)


def rpc(cli: Program, *requests: dict[str, Any]) -> list[Any]:
    """Return the responses in the order of the requests."""
    ended = cli.run("--mode", "rpc", piped="".join(f"{json.dumps(each)}\n" for each in requests))
    reported = [json.loads(line) for line in ended.out.splitlines()]
    answers = {each["command"]: each for each in reported if each["type"] == "response"}
    return [answers[each["type"]] for each in requests]


def change_owner(cli: Program) -> None:
    """Store another user as the owner at the time of the choice."""
    path = cli.agent_dir / CHOSEN
    kept = json.loads(path.read_text())
    kept["servers"][0]["owner"] = {"uid": os.getuid() + 1, "user": "eve", "process": "vllm"}
    path.write_text(json.dumps(kept))


def refused(ended: Ended) -> str:
    """Return the one line about the server."""
    assert (ended.code, ended.out) == (1, "")
    (line,) = [line for line in ended.err.splitlines() if "The server of vllm" in line]
    return line


@pytest.mark.full
def test_a_discovered_server_that_was_not_chosen_gets_no_requests(
    cli: Program, model: LoopbackModel
) -> None:
    model.command = "touch ran"
    printed = cli.run("-p", "hello")
    available, prompted = rpc(
        cli, {"type": "get_available_models"}, {"type": "prompt", "message": "hello"}
    )
    (cycled,) = rpc(cli, {"type": "cycle_model"})

    assert (printed.code, printed.err.splitlines()[0]) == (
        1,
        "No API key found for the selected model.",
    )
    providers = {each["provider"] for each in available["data"]["models"]}
    assert providers == {"local", "demo"}
    assert cycled["data"]["model"]["provider"] in providers
    assert not prompted["success"]
    assert (model.requests, (cli.cwd / "ran").exists()) == ([], False)


def test_a_discovered_server_is_listed_with_its_owner(cli: Program) -> None:
    listed = cli.run("models").out
    missed = cli.run("-p", "--model", "first", "hello")

    port = cli.environ["VLLM_BASE_URL"].rpartition(":")[2].removesuffix("/v1")
    assert f"on 127.0.0.1:{port} (owner: " in listed
    assert f"(uid {os.getuid()}), " in listed
    assert "`pi models use vllm`" in listed and "vllm      second" in listed
    assert missed.code == 1
    assert missed.err.splitlines()[1].endswith(": --model vllm/first")


@pytest.mark.parametrize(
    ("words", "settings"),
    sampled(
        [
            (("--model", "vllm/second"), "{}"),
            (("--provider", "vllm", "--model", "second"), "{}"),
            ((), '{"defaultProvider": "vllm", "defaultModel": "second"}'),
            (("--models", "vllm/second"), "{}"),
        ],
        keep=2,
    ),
    ids=["model", "provider", "default", "scope"],
)
def test_naming_a_model_of_a_server_chooses_it_for_later_runs(
    cli: Program, model: LoopbackModel, words: tuple[str, ...], settings: str
) -> None:
    cli.write("settings.json", settings)
    named = cli.run("-p", *words, "hello")
    cli.write("settings.json", "{}")
    later = cli.run("-p", "hello")
    (kept,) = json.loads((cli.agent_dir / CHOSEN).read_text())["servers"]

    assert (named.code, named.out) == (later.code, later.out) == (0, "All is well.\n")
    assert f":{kept['port']}/" in model.url
    assert (kept["owner"]["uid"], kept["provider"]) == (os.getuid(), "vllm")
    assert json.loads(model.requests[0])["model"] == "second"


@pytest.mark.full
def test_an_rpc_client_can_choose_a_discovered_server(cli: Program, model: LoopbackModel) -> None:
    (chosen,) = rpc(cli, {"type": "set_model", "provider": "vllm", "modelId": "first"})
    (available,) = rpc(cli, {"type": "get_available_models"})

    assert chosen["success"]
    assert [each["id"] for each in available["data"]["models"]] == ["first", "second"]
    assert model.requests == []


@pytest.mark.full
def test_a_server_with_another_owner_gets_no_requests_until_chosen_again(
    cli: Program, model: LoopbackModel
) -> None:
    assert cli.run("-p", "--model", "vllm/first", "hello").code == 0
    model.requests.clear()
    change_owner(cli)

    for words in ((), ("--model", "vllm/first")):
        line = refused(cli.run("-p", *words, "hello"))
        assert f"belonged to eve (uid {os.getuid() + 1}), vllm; now it belongs to" in line
        assert "`pi models use vllm`" in line
    set_model, prompted = rpc(
        cli,
        {"type": "set_model", "provider": "vllm", "modelId": "first"},
        {"type": "prompt", "message": "hello"},
    )
    assert "was chosen when it belonged to eve" in set_model["error"]
    assert not prompted["success"]
    refused(cli.run("-p", "--continue", "hello"))
    cli.write("settings.json", '{"defaultProvider": "vllm"}')
    refused(cli.run("-p", "hello"))
    assert model.requests == []

    assert cli.run("models", "use", "vllm").out.endswith(": --model vllm/first\n")
    assert cli.run("-p", "hello").out == "All is well.\n"


@pytest.mark.full
def test_the_owner_is_looked_up_for_every_request(cli: Program, model: LoopbackModel) -> None:
    model.command = f'sed -i \'s/"uid": {os.getuid()},/"uid": 54321,/\' {cli.agent_dir / CHOSEN}'
    ended = cli.run("-p", "--model", "vllm/first", "hello")

    assert len(model.requests) == 1
    assert "belonged to" in ended.err and "54321" in ended.err


def test_a_server_configured_in_models_json_needs_no_choice(
    cli: Program, model: LoopbackModel
) -> None:
    own = {"providers": {"vllm": {"baseUrl": model.url}}}
    cli.write("models.json", json.dumps(own))

    assert cli.run("-p", "--model", "vllm/first", "hello").out == "All is well.\n"
    assert not (cli.agent_dir / CHOSEN).exists()


def test_choosing_an_unknown_or_missing_server_is_an_error(
    cli: Program, model: LoopbackModel
) -> None:
    model.listed = []

    ended, unknown = cli.run("models", "use", "vllm"), cli.run("models", "use", "mine")

    assert (ended.code, ended.out) == (unknown.code, unknown.out) == (1, "")
    assert ended.err == "Error: No server of vllm was found on this machine. Start it first.\n"
    assert unknown.err.startswith("Error: Unknown server mine. Known are: ollama, ")

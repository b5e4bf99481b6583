"""The adapter in Harbor's own environment, where a container is a shell in a folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from pi.version import __version__
from scripts.workspace import ROOT, import_path
from tests.modes.acp.harbor.runs import (
    MCP_SERVER,
    Json,
    Reply,
    Run,
    RunHome,
    prepare,
    scripted_models,
)
from tests.pi_harbor.oracle import PYTHON, Oracle, oracle

FOLDER = Path(__file__).parents[2]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not PYTHON.exists(), reason="needs scripts/oracles"),
]


class Trial:
    """A task with scripted answers of the model."""

    def __init__(self, harbor: Oracle, home: RunHome, url: str) -> None:
        self.home = home
        self._harbor, self._url = harbor, url

    async def run(self, **job: Any) -> Json:
        """Run the agent on the task."""
        environ = {
            **self.home.environ,
            "PATH": f"{self.home.folder}/bin:{os.environ['PATH']}",
            "PYTHONPATH": import_path(ROOT),
        }
        defaults = {
            "logs": str(self.home.logs),
            "folder": str(self.home.project),
            "model": "mock/mock-r",
            "environ": environ,
            "host": {},
            "instruction": "MAIN Do it",
        }
        return await self._harbor.ask("run", **(defaults | job))


@asynccontextmanager
async def trial(folder: Path, *replies: Reply) -> AsyncIterator[Trial]:
    """A task, its home, and a program ``pi`` in its container."""
    run = Run(name="trial", features=(), instruction="", replies={"MAIN": replies})
    async with (
        oracle(folder / "errors", FOLDER) as harbor,
        scripted_models() as models,
    ):
        home = prepare(folder / "trial", run, models.url)
        models.load(run)
        settings = json.loads((home.agent_dir / "settings.json").read_text())
        settings["retry"] = {"enabled": False}
        (home.agent_dir / "settings.json").write_text(json.dumps(settings))
        program = home.folder / "bin" / "pi"
        program.parent.mkdir()
        pid = home.folder / "pid"
        keep_id = f"[ $1 != --print ] || echo $$ >{pid}"
        program.write_text(f"#!/bin/sh\n{keep_id}\nexec '{sys.executable}' -m pi \"$@\"\n")
        program.chmod(0o755)
        yield Trial(harbor, home, models.url)


def calling(id: str, command: str, **fields: Any) -> Reply:
    """An answer with a command."""
    return Reply(calls=((id, "bash", {"command": command}),), **fields)


async def test_a_trial_has_a_trajectory_and_its_totals(tmp_path: Path) -> None:
    replies = (calling("c1", "echo one", prompt=100, cached=40), Reply(text="Done.", prompt=200))
    async with trial(tmp_path, *replies) as task:
        report = await task.run(options={"thinking": "low"})

    steps = [step for step in report["trajectory"]["steps"] if step["source"] == "agent"]
    assert report["error"] is None
    assert report["version"] == __version__
    assert report["invalid"] == []
    assert [step["message"] for step in steps] == ["", "Done."]
    assert steps[0]["observation"]["results"][0]["content"] == "one\n"
    context = report["context"]
    assert (context["n_input_tokens"], context["n_cache_tokens"]) == (300, 40)
    assert context["n_output_tokens"] == 20
    assert context["cost_usd"] == pytest.approx((260 + 40 * 0.1 + 20 * 2) / 1e6)
    assert context["metadata"] == {"exit_code": 0}


async def test_a_spent_budget_is_no_failure(tmp_path: Path) -> None:
    replies = [calling(f"c{number}", "true") for number in range(4)]
    async with trial(tmp_path, *replies) as task:
        report = await task.run(options={"max_turns": 2})

    assert report["error"] is None
    assert report["context"]["metadata"] == {"exit_code": 3}


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (429, "Rate limit reached for requests", "ApiRateLimitError"),
        (429, "Too many requests", "ApiRateLimitError"),
        (429, "usage_limit_reached: wait until Monday", "ApiUsageLimitError"),
        (429, "You exceeded your current quota (insufficient_quota)", "ApiUsageLimitError"),
        (500, "something broke", "ApiInternalServerError"),
        (502, "bad gateway", "ApiInternalServerError"),
        (503, "try later", "ApiOverloadedError"),
        (529, "Overloaded", "ApiOverloadedError"),
        (401, "Incorrect API key provided: k", "AgentAuthenticationError"),
        (400, "prompt is too long: 9 tokens > 8 maximum", "ContextWindowExceededError"),
        (400, "context_length_exceeded", "ContextWindowExceededError"),
    ],
)
async def test_a_failure_has_the_class_that_decides_about_a_retry(
    tmp_path: Path, status: int, message: str, kind: str
) -> None:
    misleading = calling("c1", "echo 'rate limit; Connection refused; API Error'")
    async with trial(tmp_path, misleading, Reply(status=status, text=message)) as task:
        report = await task.run()

    assert report["error"] is not None
    assert report["error"][0] == kind, report["error"][1]
    assert len(report["trajectory"]["steps"]) >= 3


async def test_a_server_that_is_gone_and_an_unknown_model_are_told_apart(tmp_path: Path) -> None:
    async with trial(tmp_path, Reply(text="never")) as task:
        models = task.home.agent_dir / "models.json"
        document = json.loads(models.read_text())
        document["providers"]["mock"]["baseUrl"] = "http://127.0.0.1:9/v1"
        models.write_text(json.dumps(document))
        gone = await task.run()
        unknown = await task.run(model="nobody/nothing")

    assert gone["error"][0] == "NetworkConnectionError", gone["error"][1]
    assert unknown["error"][0] == "ModelNotFoundError", unknown["error"][1]


async def test_a_killed_run_is_converted_up_to_its_last_step(tmp_path: Path) -> None:
    kill = "kill -9 $(cat ../pid); sleep 5"
    replies = (calling("c1", "echo one", text="First."), calling("c2", kill, text="Second."))
    async with trial(tmp_path, *replies) as task:
        report = await task.run()

    steps = [step for step in report["trajectory"]["steps"] if step["source"] == "agent"]
    assert report["error"] is not None
    assert report["invalid"] == []
    assert [step["message"] for step in steps] == ["First.", "Second."]
    assert steps[0]["observation"]["results"][0]["content"] == "one\n"


async def test_servers_and_endpoints_of_the_trial_are_used(tmp_path: Path) -> None:
    replies = (
        Reply(calls=(("c1", "mcp__weather__weather", {"city": "Rome"}),)),
        Reply(text="Done."),
    )
    async with trial(tmp_path, *replies) as task:
        (task.home.folder / "server.py").write_text(MCP_SERVER)
        server = {
            "name": "weather",
            "transport": "stdio",
            "command": sys.executable,
            "args": [str(task.home.folder / "server.py")],
        }
        report = await task.run(
            model="openai/gpt-none",
            mcp_servers=[server],
            host={"OPENAI_BASE_URL": f"{task._url}/v1", "OPENAI_API_KEY": "secret"},
        )

    assert report["error"] is None, report["error"]
    steps = [step for step in report["trajectory"]["steps"] if step["source"] == "agent"]
    assert steps[0]["observation"]["results"][0]["content"] == "Rain in Rome"
    assert steps[0]["model_name"] == "gpt-none"


async def test_a_trial_can_be_resumed_and_start_from_a_trajectory(tmp_path: Path) -> None:
    replies = (Reply(text="One."), Reply(text="Two."), Reply(text="Three."))
    async with trial(tmp_path, *replies) as task:
        await task.run()
        resumed = await task.run(resume=True, instruction="MAIN Go on")
        saved = tmp_path / "loaded.json"
        saved.write_text(json.dumps(resumed["trajectory"]))
        for path in task.home.sessions.iterdir():
            path.unlink()
        loaded = await task.run(load=str(saved), instruction="MAIN And on")

    def texts(report: Json) -> list[str]:
        return [row["message"] for row in report["trajectory"]["steps"] if row["source"] == "agent"]

    assert (resumed["error"], loaded["error"]) == (None, None)
    assert texts(resumed) == ["One.", "Two."]
    assert texts(loaded) == ["One.", "Two.", "Three."]


async def test_the_registry_record_is_read_by_harbor(tmp_path: Path) -> None:
    async with oracle(tmp_path / "errors", FOLDER) as harbor:
        report = await harbor.ask("registry", logs=str(tmp_path))
    assert report["identity"] == ["pi-harness", __version__]


def test_the_record_and_the_package_have_the_version_of_pi() -> None:
    record = json.loads((FOLDER / "src/pi_harbor/agent.json").read_text())
    project = tomllib.loads((FOLDER / "pyproject.toml").read_text())["project"]
    assert record["version"] == project["version"] == __version__
    assert record["distribution"]["uvx"]["package"] == f"pi-harness=={__version__}"
    scripts = tomllib.loads((ROOT / "packages/pi-harness/pyproject.toml").read_text())["project"]
    assert "pi-harness" in scripts["scripts"]  # uvx runs the program with the name of the package


def test_the_module_is_imported_without_harbor() -> None:
    code = "import pi_harbor; print(pi_harbor.REGISTRY_RECORD.name)"
    ended = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(FOLDER / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ended.stdout == "agent.json\n"

"""The browser in the real program: on the screen, and after it was killed."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.base.processes.children import eventually
from tests.batteries.browser.browser_session import needs_chromium
from tests.batteries.test_bundled import install
from tests.cli.program import Program
from tests.screens.terminal_user import needs_pty, terminal_user
from tests.stories.loopback_model import LoopbackModel, loopback_model

pytestmark = [
    pytest.mark.full,
    needs_chromium,
    pytest.mark.skipif(sys.platform != "linux", reason="finds processes in /proc"),
]


@pytest.fixture
def model() -> Iterator[LoopbackModel]:
    with loopback_model() as model:
        yield model


@pytest.fixture
def cli(tmp_path: Path, model: LoopbackModel) -> Program:
    program = Program.below(tmp_path, PYTHONPATH=str(install(tmp_path / "installed")))
    provider = {
        "baseUrl": model.url,
        "apiKey": "k",
        "api": "openai-completions",
        "models": [{"id": "m", "input": ["text", "image"]}],
    }
    program.write("models.json", json.dumps({"providers": {"mine": provider}}))
    program.write("settings.json", json.dumps({"browser": {"enabled": True}}))
    return program


def browsers(folder: Path) -> list[int]:
    """The processes of browsers whose home is below ``folder``."""
    home = f"HOME={folder}/".encode()
    pids = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            variables = (path / "environ").read_bytes()
            if home in variables and b"/pi-browser-" in variables:
                pids.append(int(path.name))
        except OSError:
            continue  # it has ended
    return pids


def test_no_browser_is_left_when_pi_is_killed(
    cli: Program, model: LoopbackModel, tmp_path: Path
) -> None:
    model.tools = [
        ("browser", {"action": "open", "url": "about:blank"}),
        ("browser", {"action": "evaluate", "script": "new Promise(() => 0)", "seconds": 100}),
    ]
    with cli.start("--mode", "rpc", "--model", "mine/m") as pi:
        assert pi.stdin is not None
        pi.stdin.write(json.dumps({"type": "prompt", "message": "go"}).encode() + b"\n")
        pi.stdin.flush()
        eventually(lambda: len(model.requests) > 1)
        assert len(browsers(tmp_path)) > 1, [
            m for m in json.loads(model.requests[1])["messages"] if m["role"] == "tool"
        ]

        pi.kill()
        pi.communicate()

    eventually(lambda: browsers(tmp_path) == [])


@needs_pty
def test_escape_cancels_an_action_and_quitting_pi_closes_the_browser(
    cli: Program, model: LoopbackModel, tmp_path: Path
) -> None:
    model.tools = [
        ("browser", {"action": "open", "url": "about:blank"}),
        ("browser", {"action": "wait", "selector": "#never", "seconds": 100}),
    ]
    with terminal_user(cli, "--model", "mine/m") as user:
        user.sees("mine/m")
        user.types("go\r")
        user.sees("wait #never")
        assert browsers(tmp_path) != []
        user.types("\x1b")
        user.sees("Interrupted")
        model.tools = [("browser", {"action": "screenshot"})]
        user.types("look\r")
        user.sees("All is well.")
        user.sees("screenshot · about:blank")
        assert user.leaves() == 0

    assert '"image_url"' in model.requests[-1]
    assert browsers(tmp_path) == []

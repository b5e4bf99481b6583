"""The RpcClient of the original drives pi: every call answers as the original answers it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
from pathlib import Path

import pytest

from tests.journeys.home import Home
from tests.journeys.model_server import Answer, ModelServer, calls, model_server, says
from tests.journeys.program import COMMAND, ENVIRONMENT
from tests.originals.comparison import Shape, differences, shape_of
from tests.originals.programs import NODE, VERSIONS, original

pytestmark = pytest.mark.full

HERE = Path(__file__).parent
EXPLAINED = {
    r"\.since_session_ms$": "every event has the time since the start of the session",
    r"<system>\.(sections|toolsAdded)": "prompts and descriptions of tools are our own texts",
    r"^getCommands ": "the bundled commands are others",
    r"<message_(start|update)>.*\.(content|usage|responseId)": "an answer that has begun shows"
    " what has been decoded so far; the original writes the record when the line is sent",
    r"\.details\.carryOver\.": "a compaction has a carry-over",
    r"^compact \.result\.estimatedTokensAfter$": "our prompt has another length",
    r"^compact \.result\.summary$|<compaction>\.summary$": "a compaction has a carry-over",
    r"\.totalFromProvider$": "is written only where the provider has billed",
    r"<assistant>\.usage\.reasoning$": "an answer without any usage has 0 as well",
    r"^clone \.error$": "the words are those of 0.87.1; 1.5.2 asks to send a message first",
}
"""The differences that are meant: a part of call and path, and why. All are rows of
docs/compatibility.md, except texts."""
SINCE_1 = {
    r"\.(durationMs|thinkingLevel)$": "0.87.1 does not measure and record them",
    r"\.structuredContent": "0.87.1 has no structured results",
    r"<agent_settled>\.aborted$": "0.87.1 does not report it",
}
"""What pi has in common with 1.5.2 and 0.87.1 does not have."""


def answers(go: threading.Event, never: threading.Event) -> list[Answer]:
    """Return what the model says to the prompts of ``rpc_calls.mjs``, in order."""
    return [
        says("Hello there."),
        calls("bash", command="echo one"),
        says("Done."),
        Answer(text="waiting for you", released=go),
        says("after"),
        says("A summary of it."),
        Answer(text="holding on", released=never),
    ]


def drive(client: Path, program: Path, folder: Path, model: ModelServer) -> list[tuple[str, Shape]]:
    """Run every call of a client against a program; return the calls and their answers."""
    folder.mkdir()
    home = Home(folder)
    home.use_model(model, "one", "two", reasoning=True)
    home.use_settings(compaction={"keepRecentTokens": 4})
    earlier = home.add_session("before", id="11111111-1111-7111-8111-111111111111")
    go, never = threading.Event(), threading.Event()
    model.script(*answers(go, never))
    environ = {
        **ENVIRONMENT,
        "PATH": f"{NODE.parent}:{os.environ['PATH']}",
        "HOME": str(home.path),
        "PI_OFFLINE": "1",
        "PI_COMMAND": COMMAND,
    }
    arguments = [str(client), str(program), str(home.cwd), str(earlier)]
    process = subprocess.Popen(
        [str(NODE), str(HERE / "rpc_calls.mjs"), *arguments],
        cwd=home.cwd,
        env=environ,
        stdout=subprocess.PIPE,
        text=True,
    )
    reports: list[tuple[str, Shape]] = []
    texts = {str(folder): "<folder>", str(folder).strip("/").replace("/", "-"): "<folder>"}
    with process:
        assert process.stdout is not None
        for line in process.stdout:
            report = json.loads(line)
            call = report.pop("call")
            if call == "getState" and any(name == "clearQueue" for name, _ in reports):
                go.set()  # everything is queued
            reports.append((call, shape_of(report, texts)))
        never.set()
    assert process.returncode == 0
    return reports


@pytest.mark.parametrize("version", VERSIONS)
def test_every_call_of_the_client_answers_as_the_original_does(
    version: str, tmp_path: Path
) -> None:
    folder = original(version)
    client = folder / "dist" / "modes" / "rpc" / "rpc-client.js"
    with model_server() as model:
        expected = drive(client, folder / "dist/bundle/cli.js", tmp_path / "original", model)
    with model_server() as model:
        actual = drive(client, HERE / "run_program.cjs", tmp_path / "ours", model)

    assert [call for call, _ in actual] == [call for call, _ in expected]
    explained = EXPLAINED | (SINCE_1 if version == "0.87.1" else {})
    unexplained = {}
    for (call, shape), (_, wanted) in zip(actual, expected, strict=True):
        for path, (missing, added) in differences(wanted, shape).items():
            if not any(re.search(pattern, f"{call} {path}") for pattern in explained):
                unexplained[f"{call} {path}"] = {"original": missing, "pi": added}
    assert unexplained == {}

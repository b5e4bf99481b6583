"""Sessions of each program are opened and continued by the others as by their writer."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.model_server import Answer, Json, calls, says
from tests.journeys.program import COMMAND, Journey
from tests.originals.comparison import differences, shape_of
from tests.originals.programs import original

pytestmark = pytest.mark.full

HERE = Path(__file__).parent
OURS = "ours"
SERVER = Path(__file__).parents[1] / "journeys" / "mcp_server.py"
COMPACTION: Json = {"compaction": {"keepRecentTokens": 4}}


@dataclass(frozen=True)
class Scenario:
    """A conversation that one program writes."""

    writers: tuple[str, ...]
    answers: tuple[Answer, ...]
    prompts: tuple[str, ...] = ("begin",)
    arguments: tuple[str, ...] = ()
    mcp: Json = field(default_factory=dict)
    compacts: bool = False
    damage: Callable[[bytes], bytes] = lambda data: data


ALL = ("1.5.2", "0.87.1", OURS)
LATEST = ("1.5.2", OURS)
DEFERRED = {"mcpServers": {"sky": {"command": sys.executable, "args": [str(SERVER)]}}}
SCENARIOS = {
    "plain": Scenario(ALL, (says("Hello."), says("Again.")), prompts=("begin", "and on")),
    "tools": Scenario(
        ALL,
        (
            calls("bash", command="echo out; exit 3"),
            calls("write", path="a", content="b"),
            says("."),
        ),
    ),
    "compaction": Scenario(
        ALL,
        (says("Hello."), says("Again."), says("The summary.")),
        prompts=("begin", "and on"),
        compacts=True,
    ),
    "codemode": Scenario(
        ("1.5.2",),
        (
            calls("codemode", code='store("k", 1); return await tools.bash({command: "echo in"})'),
            says("Done."),
        ),
        arguments=("--tools", "read,bash,codemode"),
    ),
    "tool_search": Scenario(
        ("1.5.2",),
        (
            calls("tool_search", query="weather"),
            calls("mcp__sky__weather", city="Rome"),
            says("Rain."),
        ),
        mcp=DEFERRED,
        arguments=("--tools", "read,bash,tool_search"),
    ),
    "virtual model": Scenario(
        ("1.5.2",),
        (says("Routed."),),
        arguments=("--model", "loop/router", "-e", str(HERE / "router.ts")),
    ),
    "a torn last line": Scenario(
        ALL,
        (says("Hello."), says("Again.")),
        prompts=("begin", "and on"),
        damage=lambda data: data[:-40],
    ),
    "a bad line": Scenario(
        ALL,
        (says("Hello."), says("Again.")),
        prompts=("begin", "and on"),
        damage=lambda data: data.replace(b'"type":"thinking_level_change"', b'"type":"thi', 1),
    ),
}
EXPLAINED = {
    r"^(tools|tool_search) \.request.*(tool_calls.*\.id|tool_call_id)$": "a second call with the"
    " id of an earlier one gets a number in requests: some servers refuse equal ids",
    r"^compaction \.request\[\]<user>\.content\[\]<text>\.text$": "each program has its own words"
    " around a summary",
}
"""The differences that are meant: a part of scenario and path, and why."""
CASES = [(name, writer) for name, scenario in SCENARIOS.items() for writer in scenario.writers]


def use(journey: Journey, program: str) -> None:
    """Run this program from now on."""
    journey.program = COMMAND if program == OURS else str(original(program) / "pi")


def write(journey: Journey, scenario: Scenario) -> Path:
    """Let the current program have the conversation; return its session file."""
    journey.home.write("mcp.json", json.dumps(scenario.mcp or {"mcpServers": {}}))
    journey.model.script(*scenario.answers)
    with journey.rpc("--model", "loop/one", *scenario.arguments) as client:
        for prompt in scenario.prompts:
            client.prompts(prompt)
        if scenario.compacts:
            client.request("compact")
        file = Path(client.request("get_state")["sessionFile"])
    assert journey.model.unused == 0
    file.write_bytes(scenario.damage(file.read_bytes()))
    return file


def read(journey: Journey, file: Path) -> dict[str, Any]:
    """Open a session with the current program and go on; return what it and the model see."""
    content = file.read_bytes()
    with journey.rpc("--session", str(file)) as client:
        state = client.request("get_state")
        messages = client.request("get_messages")["messages"]
        leaf = client.request("get_entries")["leafId"]
        client.prompts("go on")
        added = client.request("get_entries")["entries"]
        sent = journey.model.last
    file.write_bytes(content)
    return {
        "model": state["model"]["id"],
        "level": state["thinkingLevel"],
        "name": state.get("sessionName"),
        "leaf": leaf,
        "messages": [message for message in messages if message["role"] != "system"],
        "request": [m for m in sent["messages"] if m["role"] not in ("system", "developer")],
        "requested": sent["model"],
        "answer": added[-1]["message"]["content"],
    }


@pytest.mark.parametrize(("name", "writer"), CASES, ids=[f"{n}, {w}" for n, w in CASES])
def test_every_program_continues_a_session_as_its_writer_does(
    name: str, writer: str, journey: Journey
) -> None:
    journey.home.use_model(journey.model, "one", "two", reasoning=True)
    journey.home.use_settings(**COMPACTION)
    journey.environ["PI_OFFLINE"] = "1"
    use(journey, writer)
    file = write(journey, SCENARIOS[name])
    expected = shape_of(read(journey, file), {})
    others: dict[str, Any] = {}
    for program in ALL:
        if program != writer and OURS in (program, writer):
            use(journey, program)
            others |= {
                f"{program}: {path}": values
                for path, values in differences(expected, shape_of(read(journey, file), {})).items()
                if not any(re.search(pattern, f"{name} {path}") for pattern in EXPLAINED)
            }
    assert others == {}

"""Harbor's unchanged runner, converters and validator; ``scripts/oracles`` installs them.

What Harbor loses by itself, and is no part of the comparison:

* An event line is cut at U+2028, U+2029 and U+0085, which its runner writes raw and its converter
  splits at: text, calls and results with such a character are lost over ACP.
* Pictures in results of calls are no observation over ACP.
* Over ACP the name of a tool is its kind, and the usage is that of the session, not of an answer.
* The adapter for pi counts the messages and compactions of one file: sub-agents are missing.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from pi.base.clock import IdFactory
from pi.coding.export.atif.restoring import read_trajectory, restore_files
from pi.coding.export.files import export_file
from scripts.workspace import ROOT, import_path
from tests.modes.acp.harbor.runs import (
    FEATURES,
    SEPARATORS,
    Json,
    Reply,
    Run,
    RunHome,
    generated,
    mcp_servers,
    prepare,
    scripted_models,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(3600),
    pytest.mark.xdist_group("harbor"),
    pytest.mark.skipif(
        not (ROOT / ".oracles" / "harbor" / "bin" / "python").exists(),
        reason="needs scripts/oracles",
    ),
]

PYTHON = ROOT / ".oracles" / "harbor" / "bin" / "python"
CLIENT = Path(__file__).parent / "oracle_client.py"
RUNS, FULL_RUNS = 2, 200


class Oracle:
    """The process with Harbor."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None and process.stdout is not None
        self._to, self._from = process.stdin, process.stdout

    async def ask(self, kind: str, **job: Any) -> Json:
        """Have a job done."""
        self._to.write(json.dumps({"kind": kind, **job}).encode() + b"\n")
        await self._to.drain()
        report = dict(json.loads(await asyncio.wait_for(self._from.readline(), 120)))
        assert "failure" not in report, report
        return report


@asynccontextmanager
async def oracle(errors: Path) -> AsyncIterator[Oracle]:
    """Harbor, in an environment of its own."""
    with errors.open("wb") as stderr:
        process = await asyncio.create_subprocess_exec(
            *(str(PYTHON), str(CLIENT)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=stderr,
            limit=1 << 28,
            env={"PATH": os.environ["PATH"], "HOME": str(errors.parent)},
        )
        try:
            yield Oracle(process)
        finally:
            process.kill()
            await process.wait()


async def test_a_run_loses_nothing(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    """Calls, arguments, observations, tokens and costs are those of the session file."""
    count = FULL_RUNS if pytestconfig.getoption("--full") else RUNS
    different: list[str] = []
    async with oracle(tmp_path / "errors") as harbor, scripted_models() as models:
        for run in generated(count):
            folder = tmp_path / run.name
            folder.mkdir()
            home = prepare(folder, run, models.url)
            models.load(run)
            report = await harbor.ask(
                "acp",
                workspace=str(home.project),
                logs=str(home.logs),
                launcher=str(folder / "launcher"),
                instruction=run.instruction,
                env={
                    **home.environ,
                    "PYTHONPATH": import_path(ROOT),
                    "HARBOR_ACP_MCP_SERVERS_JSON": json.dumps(mcp_servers(home, run)),
                    "HARBOR_ACP_REQUESTED_MODEL": "mock/mock-r",
                },
            )
            problems = [f"not in the script: {row}" for row in models.unknown]
            models.unknown.clear()
            problems += [f"not requested: {marker}" for marker in models.left]
            problems += [f"did not run: {name}" for name in failed_tools(home)]
            problems += [f"acp: {problem}" for problem in acp_differences(report, home)]
            native = await harbor.ask("pi", logs=str(home.logs))
            problems += [f"pi: {problem}" for problem in pi_differences(native, home)]
            problems += [f"atif: {problem}" async for problem in atif_differences(harbor, home)]
            if problems:
                different.append(f"{run.name} {run.features}: {problems}")
            else:
                shutil.rmtree(folder)
    assert not different, "\n".join(row[:2000] for row in different)


@pytest.mark.full
async def test_a_run_in_json_mode_is_converted(tmp_path: Path) -> None:
    different: list[str] = []
    async with oracle(tmp_path / "errors") as harbor, scripted_models() as models:
        for run in [run for run in generated(len(FEATURES) + 1) if not run.mcp]:
            folder = tmp_path / run.name
            folder.mkdir()
            home = prepare(folder, run, models.url)
            models.load(run)
            process = await start_in_json_mode(home, run)
            output, errors = await asyncio.wait_for(process.communicate(), 120)
            (home.logs / "pi.txt").write_bytes(output)
            problems = [errors.decode()] if process.returncode else []
            native = await harbor.ask("pi", logs=str(home.logs))
            problems += pi_differences(native, home)
            if problems:
                different.append(f"{run.name} {run.features}: {problems}")
    assert not different, "\n".join(row[:2000] for row in different)


async def test_a_killed_run_converts_up_to_its_last_step(tmp_path: Path) -> None:
    """The process is killed while a command of the second answer runs."""
    first = Reply(text="First.", calls=(("call_1", "bash", {"command": "echo one"}),))
    second = Reply(text="Second.", calls=(("call_2", "bash", {"command": "sleep 100"}),))
    run = Run(name="killed", features=(), instruction="MAIN Go", replies={"MAIN": (first, second)})
    async with oracle(tmp_path / "errors") as harbor, scripted_models() as models:
        home = prepare(tmp_path / "run", run, models.url)
        models.load(run)
        process = await start_in_json_mode(home, run)
        assert process.stdout is not None
        async for line in process.stdout:
            if b"tool_execution_start" in line and b"call_2" in line:
                break
        process.kill()
        await process.communicate()

        native = await harbor.ask("pi", logs=str(home.logs))
        path = export_file(home.session(), tmp_path / "run.atif.json", cwd=tmp_path)
        errors = (await harbor.ask("validate", path=str(path)))["errors"]

        answers = [row for row in native["trajectory"]["steps"] if row["source"] == "agent"]
        ours = [row for row in json.loads(path.read_bytes())["steps"] if row["source"] == "agent"]
        assert [row["message"] for row in answers] == ["First.", "Second."]
        assert [row["message"] for row in ours] == ["First.", "Second."]
        assert ours[0]["observation"]["results"][0]["content"] == "one\n"
        assert native["context"]["n_output_tokens"] == 20
        assert errors == []


async def start_in_json_mode(home: RunHome, run: Run) -> asyncio.subprocess.Process:
    """Start a run as the adapter for pi does."""
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "pi", "--print", "--mode", "json"),
        *("--session-dir", str(home.sessions), "--provider", "mock", "--model", "mock-r"),
        run.instruction,
        cwd=home.project,
        env={"PATH": os.environ["PATH"], **home.environ},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        limit=1 << 26,
    )


# The session file ---------------------------------------------------------------------------------


def rows(path: Path) -> list[Json]:
    """The entries of a session file."""
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def messages(home: RunHome, role: str) -> list[Json]:
    """The messages of a role."""
    entries = rows(home.session())
    return [
        row["message"]
        for row in entries
        if row["type"] == "message" and row["message"]["role"] == role
    ]


def calls_of(message: Json) -> dict[str, Json]:
    """The calls of an answer."""
    return {
        block["id"]: block["arguments"]
        for block in message["content"]
        if block["type"] == "toolCall"
    }


def text_of(content: Any) -> str:
    """The texts of a message."""
    if isinstance(content, str):
        return content
    return "".join(block["text"] for block in content if block["type"] == "text")


def usages(path: Path) -> Iterator[Json]:
    """The usage of every request in a file."""
    for row in rows(path):
        if row["type"] == "message":
            if (usage := row["message"].get("usage")) is not None:
                yield usage
        elif isinstance(usage := row.get("usage"), dict):
            yield usage


def total(home: RunHome, *, agents: bool) -> tuple[int, int, int, float]:
    """Prompt, cached and completion tokens and cost, with or without those of sub-agents."""
    session = home.session()
    files = [session]
    if agents:
        files += session.parent.glob(f"{session.stem}/**/*.jsonl")
    found = [usage for path in files for usage in usages(path)]
    cached = sum(usage["cacheRead"] for usage in found)
    written = sum(usage["cacheWrite"] for usage in found)
    prompt = sum(usage["input"] for usage in found) + cached + written
    output = sum(usage["output"] for usage in found)
    return prompt, cached, output, round(sum(usage["cost"]["total"] for usage in found), 9)


def failed_tools(home: RunHome) -> Iterator[str]:
    """The tools that a script cannot have meant to fail."""
    for message in messages(home, "toolResult"):
        name = message["toolName"]
        if message["isError"] and (name.startswith("mcp__") or name in ("task", "twice", "edit")):
            yield f"{name}: {text_of(message['content'])[:200]}"


# Comparison ---------------------------------------------------------------------------------------


def is_cut(value: Any) -> bool:
    """Whether Harbor cuts the event with this."""
    text = json.dumps(value, ensure_ascii=False)
    return any(mark in text for mark in SEPARATORS if not mark.isalpha())


def acp_differences(report: Json, home: RunHome) -> Iterator[str]:
    """What Harbor does not have as the session file has it."""
    if report["code"] or report["error"]:
        yield f"failed: {report['error']}"
    trajectory = report["trajectory"]
    if trajectory is None:
        yield "no trajectory"
        return
    steps = [step for step in trajectory["steps"] if step["source"] == "agent"]
    answers = [message for message in messages(home, "assistant") if message["content"]]
    results = {message["toolCallId"]: message for message in messages(home, "toolResult")}
    expected: list[Json] = [{"text": text_of(m["content"]), "calls": calls_of(m)} for m in answers]
    seen: list[Json] = [
        {
            "text": step["message"],
            "calls": {
                call["tool_call_id"]: call["arguments"] for call in step.get("tool_calls") or ()
            },
        }
        for step in steps
    ]
    cut = is_cut(expected) or is_cut(list(results.values()))
    if not cut and seen != expected:
        yield f"steps: {seen} for {expected}"
    made = {id for answer in expected for id in answer["calls"]}
    if phantom := {id for step in seen for id in step["calls"]} - made:
        yield f"phantom calls: {phantom}"
    observations = {
        result["source_call_id"]: result["content"]
        for step in steps
        for result in (step.get("observation") or {}).get("results", ())
    }
    for id, message in results.items():
        text = text_of(message["content"])
        if text and not is_cut(text) and observations.get(id) != text:
            yield f"{message['toolName']} {id}: {observations.get(id)!r:.300} for {text!r:.300}"
    context = report["context"]
    prompt, cached, output, cost = total(home, agents=True)
    tokens = (context["n_input_tokens"], context["n_cache_tokens"], context["n_output_tokens"])
    if tokens != (prompt, cached, output):
        yield f"tokens: {tokens} for {(prompt, cached, output)}"
    if round(context["cost_usd"] or 0, 9) != cost:
        yield f"cost: {context['cost_usd']} for {cost}"


def pi_differences(report: Json, home: RunHome) -> Iterator[str]:
    """What the adapter for pi does not have as the session file has it."""
    trajectory = report["trajectory"]
    if trajectory is None:
        yield "no trajectory"
        return
    steps = [step for step in trajectory["steps"] if step["source"] == "agent"]
    seen = {
        call["tool_call_id"]: (call["function_name"], call["arguments"])
        for step in steps
        for call in step.get("tool_calls") or ()
    }
    expected = {
        block["id"]: (block["name"], block["arguments"])
        for message in messages(home, "assistant")
        for block in message["content"]
        if block["type"] == "toolCall"
    }
    if seen != expected:
        yield f"calls: {seen} for {expected}"
    observed = {
        result["source_call_id"]
        for step in steps
        for result in (step.get("observation") or {}).get("results", ())
    }
    results = {message["toolCallId"] for message in messages(home, "toolResult")}
    if observed != results:
        yield f"observations: {observed ^ results}"
    context = report["context"]
    prompt, cached, output, cost = total(home, agents=False)
    tokens = (context["n_input_tokens"], context["n_cache_tokens"], context["n_output_tokens"])
    if tokens != (prompt, cached, output):
        yield f"tokens: {tokens} for {(prompt, cached, output)}"
    if round(context["cost_usd"] or 0, 9) != cost:
        yield f"cost: {context['cost_usd']} for {cost}"


async def atif_differences(harbor: Oracle, home: RunHome) -> AsyncIterator[str]:
    """What is wrong with our own trajectory."""
    path = export_file(home.session(), home.folder / "run.atif.json", cwd=home.folder)
    for error in (await harbor.ask("validate", path=str(path)))["errors"]:
        yield error
    document = json.loads(path.read_bytes())
    steps = [step for step in document["steps"] if step["source"] == "agent"]
    results = messages(home, "toolResult")
    observed = [
        result for step in steps for result in (step.get("observation") or {}).get("results", ())
    ]
    if len(observed) != len(results):
        yield f"{len(observed)} observations of {len(results)} results"
    calls = {
        call["tool_call_id"]: call["arguments"]
        for step in steps
        for call in step.get("tool_calls", ())
    }
    expected: Json = {}
    for message in messages(home, "assistant"):
        expected |= calls_of(message)
    if calls != expected:
        yield f"calls: {calls} for {expected}"
    final = document["final_metrics"]
    seen = (
        final["total_prompt_tokens"],
        final["total_cached_tokens"],
        final["total_completion_tokens"],
        round(final["total_cost_usd"], 9),
    )
    prompt, cached, output, _ = total(home, agents=False)
    if seen != (prompt, cached, output, total(home, agents=True)[3]):
        yield f"metrics: {seen} for {(prompt, cached, output, total(home, agents=True)[3])}"
    folder = home.folder / "restored"
    folder.mkdir()
    session = restore_files(read_trajectory(path), path, IdFactory(), folder)
    again = export_file(session, folder / "run.atif.json", cwd=folder)
    if json.loads(again.read_bytes()) != document:
        before, after = document, json.loads(again.read_bytes())
        yield f"round trip: {[key for key in before if before[key] != after.get(key)]}"

"""Token ids of a server: asked for by a model, stored beside the session, part of a trajectory."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pi.coding.export.files import export_file
from pi.coding.session.token_ids import read_token_ids
from tests.modes.acp.harbor.runs import Reply, Run, RunHome, prepare, scripted_models

pytestmark = pytest.mark.slow


def turns(count: int) -> tuple[Reply, ...]:
    """Answers whose prompts grow, with the ids that the server has counted."""
    replies: list[Reply] = []
    prompt: tuple[int, ...] = (1, 2, 3)
    for number in range(count):
        answer = (1000 + number, 2000 + number)
        calls: tuple[Any, ...] = ((f"c{number}", "ls", {}),) if number < count - 1 else ()
        replies.append(Reply(text="x", calls=calls, ids=(prompt, answer)))
        prompt = (*prompt, *answer, 7)
    return tuple(replies)


async def run(folder: Path, *replies: Reply, asks: bool) -> RunHome:
    """A run in print mode, with a model that asks for token ids or does not."""
    script = Run(name="ids", features=(), instruction="MAIN Go", replies={"MAIN": replies})
    async with scripted_models() as models:
        home = prepare(folder / "run", script, models.url)
        models.load(script)
        file = home.agent_dir / "models.json"
        document = json.loads(file.read_text())
        document["providers"]["mock"]["models"][0]["compat"] = {"returnTokenIds": asks}
        file.write_text(json.dumps(document))
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "pi", "-p", "--session-dir", str(home.sessions)),
            *("--model", "mock/mock-r", script.instruction),
            cwd=home.project,
            env={"PATH": os.environ["PATH"], **home.environ},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        output, errors = await process.communicate()
        assert process.returncode == 0, (output, errors)
        assert models.unknown == []
    return home


def metrics(home: RunHome) -> list[dict[str, Any]]:
    """The metrics of the answers in a trajectory."""
    path = export_file(home.session(), home.folder / "x.atif.json", cwd=home.folder)
    steps = json.loads(path.read_bytes())["steps"]
    return [step["metrics"] for step in steps if step["source"] == "agent"]


async def test_ids_of_every_turn_are_those_of_the_server(tmp_path: Path) -> None:
    replies = turns(100)
    home = await run(tmp_path, *replies, asks=True)

    rows = metrics(home)
    assert [tuple(row["prompt_token_ids"]) for row in rows] == [row.ids[0] for row in replies]
    assert [tuple(row["completion_token_ids"]) for row in rows] == [row.ids[1] for row in replies]
    assert rows[3]["logprobs"] == [-1.003, -2.003]
    assert "token_ids" not in home.session().read_text()
    (file,) = home.sessions.glob("*/token-ids.ndjson")
    assert file.stat().st_size < 100 * 200  # each row has what is new only


async def test_nothing_is_stored_for_a_model_that_does_not_ask(tmp_path: Path) -> None:
    home = await run(tmp_path, Reply(text="Done."), asks=False)

    assert read_token_ids(home.session()) == {}
    assert not list(home.sessions.glob("*/token-ids.ndjson"))


async def test_a_server_that_refuses_the_field_costs_one_request(tmp_path: Path) -> None:
    refused = Reply(status=400, text="Extra inputs are not permitted: return_token_ids")
    call = Reply(calls=(("c1", "ls", {}),))
    home = await run(tmp_path, refused, call, Reply(text="Done."), asks=True)

    lines = [json.loads(line) for line in home.session().read_bytes().splitlines()]
    notes = [row["message"].get("diagnostics") for row in lines if row["type"] == "message"]
    assert [note[0]["type"] for note in notes if note] == ["token_ids_rejected"]
    assert all("prompt_token_ids" not in row for row in metrics(home))

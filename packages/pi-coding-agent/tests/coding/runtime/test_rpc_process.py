"""A server in a process of its own, and pending requests when it dies."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from pi.ai.messages import Json
from pi.coding.runtime.rpc_client import RpcProcess, RpcRefused, RpcServerDied, rpc_process

TIMEOUT_SECONDS = 30.0
SERVER = """
import json, sys

def say(record):
    print(json.dumps(record), flush=True)

for line in sys.stdin:
    request = json.loads(line)
    answer = {"type": "response", "command": request["type"], "id": request.get("id")}
    match request["type"]:
        case "echo":
            say({"type": "reported", "text": request["text"]})
            say({**answer, "success": True, "data": request["text"]})
        case "refuse":
            say({**answer, "success": False, "error": "not today"})
        case "noise":
            print("not a record", flush=True)
            print("[1]", flush=True)
            say({**answer, "success": True})
        case "die":
            print("x" * 100_000, "out of paper", file=sys.stderr)
            sys.exit(3)
"""


@asynccontextmanager
async def server(tmp_path: Path, received: list[Json] | None = None) -> AsyncIterator[RpcProcess]:
    on_record = ([] if received is None else received).append
    command = [sys.executable, "-c", SERVER]
    async with (
        asyncio.timeout(TIMEOUT_SECONDS),
        rpc_process(command, cwd=tmp_path, env=dict(os.environ), on_record=on_record) as process,
    ):
        yield process


async def test_responses_are_matched_to_requests_and_other_records_are_reported(
    tmp_path: Path,
) -> None:
    received: list[Json] = []
    async with server(tmp_path, received) as process:
        answers = await asyncio.gather(*(process.request("echo", text=n) for n in range(20)))

    assert answers == list(range(20))
    assert received == [{"type": "reported", "text": n} for n in range(20)]


async def test_a_refused_request_raises_an_error_with_the_reason(tmp_path: Path) -> None:
    async with server(tmp_path) as process:
        with pytest.raises(RpcRefused, match="not today"):
            await process.request("refuse")


async def test_output_that_is_not_a_record_is_ignored(tmp_path: Path) -> None:
    received: list[Json] = []
    async with server(tmp_path, received) as process:
        assert await process.request("noise") is None

    assert received == []


@pytest.mark.behaviour("dead-server-rejects-requests")
async def test_when_the_server_dies_all_pending_requests_fail_with_its_error_output(
    tmp_path: Path,
) -> None:
    async with server(tmp_path) as process:
        waiting = [asyncio.create_task(process.request("never")) for _ in range(3)]
        dying = asyncio.create_task(process.request("die"))
        promised = process.promise()

        ends = await asyncio.gather(*waiting, dying, promised, return_exceptions=True)
        with pytest.raises(RpcServerDied) as late:
            await process.request("echo", text="still there?")

    assert {type(end) for end in ends} == {RpcServerDied}
    assert late.value.message == "The RPC server has ended with exit code 3."
    assert late.value.hint.endswith("x out of paper")
    assert len(process.errors) <= 64 * 1024


@pytest.mark.behaviour("dead-server-rejects-requests")
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
async def test_the_error_names_the_signal_that_killed_the_server(tmp_path: Path) -> None:
    async with server(tmp_path) as process:
        waiting = asyncio.create_task(process.request("never"))
        await process.request("echo", text="ready")
        os.kill(process.pid, 9)

        with pytest.raises(RpcServerDied, match="by signal 9"):
            await waiting


async def test_a_cancelled_request_does_not_affect_later_ones(tmp_path: Path) -> None:
    async with server(tmp_path) as process:
        waiting = asyncio.create_task(process.request("never"))
        await process.request("echo", text="ready")
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

        assert await process.request("echo", text="on") == "on"


async def test_a_program_that_exits_at_once_fails_the_request_with_its_error_output(
    tmp_path: Path,
) -> None:
    received: list[Json] = []
    command = [sys.executable, "-c", "import sys; sys.exit('no such flag')"]
    async with rpc_process(command, cwd=tmp_path, env={}, on_record=received.append) as process:
        with pytest.raises(RpcServerDied) as died:
            await process.request("echo", text="hello")

    assert died.value.hint == "no such flag"

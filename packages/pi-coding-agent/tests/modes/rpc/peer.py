"""A client that drives a real ``pi --mode rpc`` over pipes, with models on this machine."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.modes.golden.model_answers import Answer, Piece
from tests.modes.golden.model_server import EVERYTHING, model_server
from tests.modes.golden.recording import Json
from tests.modes.golden.replay_home import ReplayHome

TIMEOUT_SECONDS = 30.0
"""Seconds after which a wait has failed."""


class Peer:
    """One process and the pipes to it; reads only on request."""

    def __init__(
        self, process: subprocess.Popen[bytes], replay_home: ReplayHome, errors: Path
    ) -> None:
        assert process.stdin is not None and process.stdout is not None
        self.process = process
        self.replay_home = replay_home
        self._to, self._from = process.stdin, process.stdout
        self._errors = errors

    @property
    def errors(self) -> str:
        """What it has written to standard error."""
        return self._errors.read_text("utf-8")

    async def send(self, command: object) -> None:
        """Send a command."""
        await self.send_bytes(json.dumps(command).encode() + b"\n")

    async def send_bytes(self, data: bytes) -> None:
        """Send whatever it is."""

        def work() -> None:
            self._to.write(data)
            self._to.flush()

        await asyncio.to_thread(work)

    async def next(self) -> Json:
        """The next record."""
        async with asyncio.timeout(TIMEOUT_SECONDS):
            line = await asyncio.to_thread(self._from.readline)
        assert line.endswith(b"\n"), "the output has ended"
        return dict(json.loads(line))

    async def until(self, **fields: object) -> list[Json]:
        """The records up to the first that has these fields."""
        records: list[Json] = []
        while not records or not fields.items() <= records[-1].items():
            records.append(await self.next())
        return records

    async def answer(self, command: Json) -> Json:
        """Send a command; the answer to it."""
        await self.send(command)
        return (await self.until(type="response", id=command["id"]))[-1]

    def hang_up(self) -> None:
        """Send nothing more."""
        self._to.close()

    def go_away(self) -> None:
        """Read nothing more, for ever."""
        self._from.close()

    async def exit_code(self) -> int:
        """The exit code, without closing its input or reading its output."""
        return await asyncio.to_thread(self.process.wait, TIMEOUT_SECONDS)

    async def ended(self) -> int:
        """Close the input and read the rest of the output; returns the exit code."""
        self.hang_up()
        await asyncio.to_thread(self._from.read)
        return await self.exit_code()


@asynccontextmanager
async def talking(
    folder: Path,
    *answers: Answer,
    arguments: Sequence[str] = ("--model", "mock/mock-r"),
    command: Sequence[str] = (sys.executable, "-m", "pi", "--mode", "rpc"),
    environ: Mapping[str, str] | None = None,
) -> AsyncIterator[Peer]:
    """A process to talk to; it is ended with the block if it has not ended before."""
    errors = folder / "errors"
    async with model_server(answers) as models:
        await models.allow(EVERYTHING)
        replay_home = ReplayHome(folder / "lab", models.url)
        with (
            errors.open("wb") as stderr,
            subprocess.Popen(  # noqa: ASYNC220 - a test that reads only when it wants to
                [*command, *arguments],
                cwd=replay_home.project,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env={"HOME": str(replay_home.home), "PATH": os.environ["PATH"], **(environ or {})},
            ) as process,
        ):
            try:
                yield Peer(process, replay_home, errors)
            finally:
                process.kill()


# What models say ----------------------------------------------------------------------------------


def says(*texts: str, hangs: bool = False) -> Answer:
    """An answer in words; with ``hangs`` nothing follows them."""
    return _answer([{"content": word} for word in texts], finish=None if hangs else "stop")


def calls_bash(command: str) -> Answer:
    """An answer that calls bash with a command."""
    function = {"name": "bash", "arguments": json.dumps({"command": command})}
    call = {"index": 0, "id": "call_1", "type": "function", "function": function}
    return _answer([{"tool_calls": [call]}], finish="tool_calls")


def _answer(deltas: Sequence[Json], *, finish: str | None) -> Answer:
    chunks: list[Json] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    if finish is not None:
        chunks.append({"index": 0, "delta": {}, "finish_reason": finish})
    events = b"".join(_event({"id": "chatcmpl-1", "choices": [chunk]}) for chunk in chunks)
    return Answer(pieces=(Piece(place=0, data=events),), hangs=finish is None)


def _event(data: Any) -> bytes:
    return b"data: %b\n\n" % json.dumps(data).encode()

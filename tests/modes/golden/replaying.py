"""Replays a recorded RPC transcript: the same commands at the same moments, on a real session."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from pi.base.clock import SystemClock
from pi.coding.runtime.assemble import assemble
from pi.coding.runtime.host import Host
from pi.coding.runtime.options import SessionOptions
from pi.modes.output import Output
from pi.modes.rpc.server import RpcServer
from tests.modes.golden.comparing import Comparison
from tests.modes.golden.lab import Lab
from tests.modes.golden.model_answers import answers
from tests.modes.golden.model_server import ModelServer, model_server
from tests.modes.golden.recording import Got, Json, Sent, Step, joined_pieces

PATIENCE = 10.0
"""Seconds after which a record that does not come will never come."""
LONG = 1.0
"""Waits from this many seconds on are over when the replay says so."""


class ReplayClock(SystemClock):
    """The machine's clock, but long waits last until the recorded next run begins."""

    def __init__(self) -> None:
        self.due = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        """Wait, or wait to be woken."""
        if seconds < LONG:
            await super().sleep(seconds)
        else:
            await self.due.wait()


class Client:
    """The other end of a session in RPC mode."""

    def __init__(self, write_end: int, read_end: int, lab: Lab) -> None:
        self._write_end = write_end
        self._lab = lab
        self._arrived: asyncio.Queue[Json] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def read() -> None:
            with os.fdopen(read_end, "rb") as lines:
                for line in lines:
                    record = json.loads(lab.as_recorded(line.decode()))
                    loop.call_soon_threadsafe(self._arrived.put_nowait, record)

        self.reader = threading.Thread(target=read)
        self.reader.start()

    def send(self, line: str) -> None:
        """Send a recorded line."""
        os.write(self._write_end, f"{self._lab.as_ours(line)}\n".encode())

    async def next(self) -> Json:
        """The next record; ``TimeoutError`` if none comes."""
        async with asyncio.timeout(PATIENCE):
            return await self._arrived.get()


@asynccontextmanager
async def session(lab: Lab, clock: ReplayClock, options: SessionOptions) -> AsyncIterator[Client]:
    """A session that talks to a client over pipes."""
    environ = {"HOME": str(lab.home), "PATH": os.environ["PATH"]}
    host = Host.of(environ, agent_dir=lab.agent_dir, clock=clock)
    built = await assemble(lab.project, host, options)
    await built.session.start()
    (commands_out, commands_in), (records_out, records_in) = os.pipe(), os.pipe()
    output = Output(records_in)
    client = Client(commands_in, records_out, lab)
    from pi.modes.input import read_chunks

    server = asyncio.create_task(RpcServer(built.session, output).run(read_chunks(commands_out)))
    try:
        yield client
    finally:
        os.close(commands_in)
        await server
        await built.session.close()
        await output.close()
        os.close(records_in)
        os.close(commands_out)
        await asyncio.to_thread(client.reader.join)


class Pair:
    """A recorded record and ours in its place."""

    def __init__(self, recorded: Json, ours: Json) -> None:
        self.recorded = recorded
        self.ours = ours


class Replay:
    """Goes through the steps, one after another."""

    def __init__(self, steps: Sequence[Step], models: ModelServer, clock: ReplayClock) -> None:
        self._steps = steps
        self._models = models
        self._clock = clock
        self.comparison = Comparison(_usages(steps))
        self.results: list[tuple[Json, Json, list[str]]] = []

    async def run(self, client: Client) -> None:
        """Send and receive; what differs is in ``results``."""
        waiting: tuple[Json, Json] | None = None
        for place, step in enumerate(self._steps):
            if isinstance(step, Sent):
                client.send(self.comparison.ours_for(step.line))
                continue
            await self._models.allow(place)
            if step.record["type"] == "agent_start":
                self._clock.due.set()
            ours = await client.next()
            while waiting and (joined := joined_pieces(waiting[1], ours)) is not None:
                waiting = (waiting[0], joined)
                ours = await client.next()
            self._clock.due.clear()
            if waiting:
                self._judge(*waiting)
            waiting = (step.record, ours)
        if waiting:
            self._judge(*waiting)

    def _judge(self, recorded: Json, ours: Json) -> None:
        self.results.append((recorded, ours, self.comparison.differences(recorded, ours)))


async def replay(
    steps: list[Step], folder: Path, options: SessionOptions, settings: Json | None = None
) -> Replay:
    """Replay an RPC transcript in ``folder``."""
    async with model_server(answers(steps)) as models:
        lab = Lab(folder, models.url)
        lab.write_settings(settings or {})
        clock = ReplayClock()
        run = Replay(steps, models, clock)
        async with session(lab, clock, options) as client:
            await run.run(client)
        assert not models.unasked, f"{models.unasked} recorded answers were never asked for"
        return run


def _usages(steps: Sequence[Step]) -> list[Json]:
    """Every usage that a recording tells of its answers."""
    found: list[Json] = []
    for step in steps:
        if isinstance(step, Got) and step.record["type"].startswith("message_"):
            record = step.record
            usage = record.get("usage") or record["message"].get("usage")
            if usage is not None and usage not in found:
                found.append(usage)
    return found

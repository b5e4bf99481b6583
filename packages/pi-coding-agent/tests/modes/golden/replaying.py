"""Replays a recorded RPC transcript: the same commands at the same moments, on a real session."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from pi.base.clock import SystemClock
from pi.base.records import replace
from pi.coding.runtime.assemble import assemble
from pi.coding.runtime.machine import Machine
from pi.coding.runtime.options import SessionOptions
from pi.modes.rpc.server import RpcServer
from pi.modes.stdio import Output, read_chunks
from tests.modes.golden.comparing import Comparison
from tests.modes.golden.model_server import ModelServer
from tests.modes.golden.recording import Json, Sent, Step, joined_pieces, says_nothing, usages
from tests.modes.golden.replay_home import ReplayHome

TIMEOUT_SECONDS = 10.0
"""Seconds after which a missing record fails the replay."""
LONG = 1.0
"""Waits from this many seconds on are over when the replay reports it."""
_UNORDERED = ("tool_execution_update", "tool_execution_end")
"""What tools report that run side by side: which is first says nothing about pi."""


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
    """The other end of a session in RPC mode; speaks as the recording does."""

    def __init__(self, write_end: int, read_end: int, replay_home: ReplayHome) -> None:
        self._write_end = write_end
        self._lab = replay_home
        self._arrived: asyncio.Queue[Json] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def read() -> None:
            with os.fdopen(read_end, "rb") as lines:
                for line in lines:
                    record = json.loads(replay_home.as_recorded(line.decode()))
                    loop.call_soon_threadsafe(self._arrived.put_nowait, record)

        self.reader = threading.Thread(target=read)
        self.reader.start()

    def send(self, line: str) -> None:
        """Send a recorded line."""
        os.write(self._write_end, f"{self._lab.as_ours(line)}\n".encode())

    async def next(self) -> Json:
        """The next record; ``TimeoutError`` if none comes."""
        async with asyncio.timeout(TIMEOUT_SECONDS):
            return await self._arrived.get()


@asynccontextmanager
async def rpc_session(
    replay_home: ReplayHome, clock: ReplayClock, options: SessionOptions
) -> AsyncIterator[Client]:
    """A session that talks to a client over pipes."""
    environ = {"HOME": str(replay_home.home), "PATH": os.environ["PATH"]}
    machine = Machine.from_environ(environ, agent_dir=replay_home.agent_dir, clock=clock)
    host = replace(machine, import_path=())
    session = (await assemble(replay_home.project, host, options)).session
    await session.start()
    (commands_out, commands_in), (records_out, records_in) = os.pipe(), os.pipe()
    output = Output(records_in)
    client = Client(commands_in, records_out, replay_home)
    server = asyncio.create_task(RpcServer(session, output).run(read_chunks(commands_out)))
    try:
        yield client
    finally:
        os.close(commands_in)
        await server
        await session.close()
        await output.close()
        os.close(records_in)
        os.close(commands_out)
        await asyncio.to_thread(client.reader.join)


@dataclass
class Pair:
    """A recorded record and ours in its place."""

    place: int
    recorded: Json
    ours: Json


class Replay:
    """Goes through the steps, one after another."""

    def __init__(
        self,
        steps: Sequence[Step],
        models: ModelServer,
        clock: ReplayClock,
        *,
        left_out: frozenset[int] = frozenset(),
    ) -> None:
        self._steps = steps
        self._models = models
        self._clock = clock
        self._comparison = Comparison(usages(steps))
        self._pairs: list[Pair] = []
        self._judged = 0
        self._left_out = left_out
        """Places of recorded records that ours must not send."""
        self.absent: list[int] = []
        """Those, and places of records that have nothing to say, which ours leaves out."""
        self.differing: dict[int, list[str]] = {}
        """What differs, by place."""
        self.equal = 0

    async def run(self, client: Client) -> None:
        """Send and receive."""
        for index, step in enumerate(self._steps):
            if isinstance(step, Sent):
                self._judge()
                client.send(self._comparison.ours_for(step.line))
            elif index in self._left_out or says_nothing(step.record):
                self.absent.append(index)
            else:
                await self._models.allow(index)
                if step.record["type"] == "agent_start":
                    self._clock.due.set()
                self._pairs.append(Pair(index, step.record, await self._next(client)))
                self._clock.due.clear()
        self._judge()

    async def _next(self, client: Client) -> Json:
        """Our next record; what only continues the one before is put there."""
        while True:
            ours = await client.next()
            last = self._pairs[-1] if self._pairs else None
            joined = None if last is None else joined_pieces(last.ours, ours)
            if last is None or joined is None:
                return ours
            last.ours = joined

    def _judge(self) -> None:
        """Compare what can no longer change: ids are known before they are sent."""
        ready = in_one_order(self._pairs[self._judged :])
        self._judged = len(self._pairs)
        for pair in ready:
            differences = self._comparison.differences(pair.recorded, pair.ours)
            if differences:
                self.differing[pair.place] = differences
            else:
                self.equal += 1


def in_one_order(pairs: list[Pair]) -> list[Pair]:
    """The pairs, with ours in the recorded order where tools ran side by side."""
    ordered: list[Pair] = []
    for together, run in groupby(pairs, lambda pair: pair.recorded["type"] in _UNORDERED):
        group = list(run)
        ordered += _rearranged(group) if together else group
    return ordered


def _rearranged(run: list[Pair]) -> list[Pair]:
    recorded = _numbered([pair.recorded for pair in run])
    ours = _numbered([pair.ours for pair in run])
    if recorded.keys() != ours.keys():
        return run
    indexes = {id(pair.recorded): pair.place for pair in run}
    return [Pair(indexes[id(record)], record, ours[key]) for key, record in recorded.items()]


def _numbered(records: list[Json]) -> dict[tuple[Any, Any, int], Json]:
    """Records by what they are, of which call, and the how many-th of that."""
    seen: Counter[tuple[Any, Any]] = Counter()
    by_key: dict[tuple[Any, Any, int], Json] = {}
    for record in records:
        what = (record["type"], record.get("toolCallId"))
        seen[what] += 1
        by_key[(*what, seen[what])] = record
    return by_key

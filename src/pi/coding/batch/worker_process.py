"""The program of a worker process, ``python -m pi.coding.batch.worker_process``, and its frames.

The first frame on its standard input holds the settings (pickled: they come from the same program);
all others, in both directions, are the JSON records of this module.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import sys
from collections.abc import Mapping
from typing import TypeAlias

import msgspec

from pi.base.records import Record
from pi.base.tasks import TaskScope
from pi.coding.batch.execution import TaskRunner
from pi.coding.batch.results import BatchResult
from pi.coding.batch.tasks import BatchTask

_HEADER = 4


class RunTask(Record, tag="run"):
    """Run an attempt; answered by ``TaskEnded``."""

    task: BatchTask
    attempt: int


class Permission(Record, tag="permission"):
    """The answer to ``MayCall``."""

    number: int
    granted: bool


class MayCall(Record, tag="mayCall"):
    """Asks whether a model call may be made."""

    number: int


class CallEnded(Record, tag="callEnded"):
    """A model call of an attempt has ended, or was not made although it was allowed."""

    id: str
    attempt: int
    cost: float | None


class Ready(Record, tag="ready"):
    """The worker has its settings."""


class TaskEnded(Record, tag="ended"):
    """The result of an attempt."""

    result: BatchResult


ToWorker: TypeAlias = RunTask | Permission
ToDriver: TypeAlias = MayCall | CallEnded | TaskEnded | Ready
_TO_WORKER = msgspec.json.Decoder(ToWorker)
_encode = msgspec.json.encode


class _PipeGate:
    """Asks the driver before each model call; one for all attempts."""

    def __init__(self, output: int) -> None:
        self._output = output
        self._waiting: dict[int, asyncio.Future[bool]] = {}
        self._number = 0

    async def ask(self, id: str, attempt: int) -> bool:
        """Whether the call may be made."""
        self._number += 1
        number = self._number
        answer: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        write_frame(self._output, _encode(MayCall(number=number)))
        try:
            return await answer
        except asyncio.CancelledError:
            if answer.done() and not answer.cancelled() and answer.result():
                self.settle(id, attempt, None)  # allowed while it was cancelled
            raise

    def settle(self, id: str, attempt: int, cost: float | None) -> None:
        """Report what the call has cost."""
        write_frame(self._output, _encode(CallEnded(id=id, attempt=attempt, cost=cost)))

    def answer(self, permission: Permission) -> None:
        """Pass an answer of the driver on; returns a permission that is no longer wanted."""
        waiting = self._waiting.pop(permission.number, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(permission.granted)
        elif permission.granted:
            self.settle("", 0, None)


class _TaskGate:
    """The gate of one attempt."""

    def __init__(self, pipe: _PipeGate, id: str, attempt: int) -> None:
        self._pipe = pipe
        self._id = id
        self._attempt = attempt

    async def ask(self) -> bool:
        """Whether the call may be made."""
        return await self._pipe.ask(self._id, self._attempt)

    def settle(self, cost: float | None) -> None:
        """Report what the call has cost."""
        self._pipe.settle(self._id, self._attempt, cost)


def write_frame(file: int, data: bytes) -> None:
    """Write a frame; blocks until the driver has read enough, which never waits for us."""
    rest = memoryview(len(data).to_bytes(_HEADER, "big") + data)
    while rest:
        rest = rest[os.write(file, rest) :]


async def serve(output: int, environ: Mapping[str, str]) -> None:
    """Run the attempts that arrive on standard input until it ends."""
    reader = asyncio.StreamReader(limit=2**30)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin.buffer)

    async def frame() -> bytes:
        return await reader.readexactly(int.from_bytes(await reader.readexactly(_HEADER), "big"))

    runner = TaskRunner(pickle.loads(await frame()), environ)
    gate = _PipeGate(output)
    write_frame(output, _encode(Ready()))

    async def run(request: RunTask) -> None:
        own = _TaskGate(gate, request.task.id, request.attempt)
        result = await runner.run(request.task, request.attempt, own)
        write_frame(output, _encode(TaskEnded(result=result)))

    async with TaskScope() as tasks:
        try:
            while True:
                match _TO_WORKER.decode(await frame()):
                    case RunTask() as request:
                        tasks.start(run(request), name=f"task {request.task.id}")
                    case Permission() as permission:
                        gate.answer(permission)
        except asyncio.IncompleteReadError:
            return  # the driver has ended


def main() -> None:
    """The worker process."""
    output = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    asyncio.run(serve(output, dict(os.environ)))


if __name__ == "__main__":
    main()

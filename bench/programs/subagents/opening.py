"""What opening a sub-agent's session costs: ``opening agents|bare COUNT``.

``agents`` starts sub-agents one after the other, in files, and leaves their sessions open; ``bare``
opens nested sessions in memory without the battery. Prints the median of CPU and wall milliseconds
after the first one, and the kibibytes that each takes.
"""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from pi.batteries.subagents.adapter import extension
from pi.extension import ExtensionAPI, SessionHandle, SubSession
from pi.testing import calls, make_session, says

PAGE = 4096


class Openings:
    """Measures every session that an extension opens."""

    def __init__(self) -> None:
        self.cpu: list[float] = []
        self.wall: list[float] = []
        self.before = 0
        self._open = ExtensionAPI.sub_session

    async def open(self, pi: ExtensionAPI, spec: SubSession) -> SessionHandle:
        """Open a session; the first one imports what all need."""
        if len(self.cpu) == 1:
            self.before = resident()
        cpu, wall = time.process_time(), time.perf_counter()
        handle = await self._open(pi, spec)
        self.cpu.append((time.process_time() - cpu) * 1000)
        self.wall.append((time.perf_counter() - wall) * 1000)
        return handle

    def figures(self) -> tuple[float, float, float]:
        """The medians, and the memory of each."""
        each = (resident() - self.before) / (len(self.cpu) - 1) / 1024
        return median(self.cpu[1:]), median(self.wall[1:]), each


def resident() -> int:
    """The bytes of this process in memory."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE


async def measure(kind: str, count: int) -> tuple[float, float, float]:
    """Open ``count`` sessions after the first."""
    openings, remaining = Openings(), iter(range(count + 1))
    apis: list[ExtensionAPI] = []

    def answer(call: Any) -> Any:
        if "Another agent has given you one task" in str(call.messages[0]):
            return calls("yield", data="done")
        return says("done") if next(remaining, None) is None else calls("task", task="x")

    async def opened(pi: ExtensionAPI, spec: SubSession) -> SessionHandle:
        return await openings.open(pi, spec)

    ExtensionAPI.sub_session = opened  # type: ignore[method-assign,assignment]
    with TemporaryDirectory() as folder:
        made = await make_session(
            Path(folder),
            answer,
            extensions=[extension, apis.append],
            environ=dict(os.environ),
            persistent=True,
            settings={"task": {"enabled": True}},
        )
        async with made as session:
            await session.start()
            if kind == "agents":
                await session.prompt("go")
            else:
                for _ in remaining:
                    await apis[0].sub_session(SubSession(keep=True))
            return openings.figures()


if __name__ == "__main__":
    print(*asyncio.run(measure(sys.argv[1], int(sys.argv[2]))))

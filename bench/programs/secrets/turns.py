"""Milliseconds of CPU that hiding secrets costs per turn: ``turns TURNS``.

A session with 60 secrets runs so many turns, each with a call of a tool and 2 KB of source code as
its result. Printed is the mean of the last ten requests, of the work of the guard alone.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import Any

from bench.programs.secrets.masking import code, secrets
from pi.agent.tools.define import make_tool
from pi.ai.providers.faux import calls, says
from pi.batteries.secrets.adapter import extension
from pi.extension import ExtensionAPI
from pi.testing import make_session

RESULT = 2_000
LAST = 10


def source_reader(pi: ExtensionAPI) -> None:
    """Register a tool that returns another piece of source code each time."""
    text = code()

    async def run(params: Any, ctx: Any) -> str:
        begin = params["number"] * RESULT % (len(text) - RESULT)
        return f"{params['number']}\n{text[begin : begin + RESULT]}"

    schema = {"type": "object", "properties": {"number": {"type": "integer"}}}
    pi.register_tool(make_tool(name="source", description="source", params=schema, run=run))


async def cost(folder: Path, turns: int) -> float:
    """Milliseconds of one of the last requests."""
    environ = {"PATH": "/usr/bin:/bin"} | {f"S{i}_KEY": v for i, v in enumerate(secrets(60))}
    session = await make_session(
        folder,
        *(calls("source", number=number) for number in range(turns)),
        says("done"),
        extensions=[extension, source_reader],
        settings={"secrets": {"enabled": True}, "compaction": {"enabled": False}},
        environ=environ,
    )
    async with session:
        await session.start()
        (wrapped,) = session.extensions.hosting.host.contributed._model_wraps()
        masking = getattr(wrapped.wrap, "__self__")._masking  # noqa: B009
        mask, spent = masking.request, []

        def timed(request: Any) -> Any:
            began = time.process_time()
            masked = mask(request)
            spent.append((time.process_time() - began) * 1000)
            return masked

        masking.request = timed
        await session.prompt("go")
        assert len(spent) == turns + 1
        return mean(spent[-LAST:])


async def main(turns: int) -> None:
    """Print the figure."""
    with TemporaryDirectory() as name:
        print(await cost(Path(name), turns))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))

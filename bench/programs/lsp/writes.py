"""Milliseconds of own CPU per write with diagnostics: ``writes SERVERS``.

The server is the scripted one of the tests; with 0 servers the battery is off. The second figure is
the number of servers that ran before the first matching write.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from pi.base.clock import SystemClock
from pi.batteries.lsp.adapter import extension
from pi.testing import make_session
from scripts.workspace import ROOT, find_test

WRITES = 50
TEXT = "some words in a line of a file\n" * 300
SERVER = find_test(ROOT, "batteries/lsp/scripted_server.py")


def configure(folder: Path, servers: int) -> None:
    """Write the settings and the configuration of the server."""
    agent = folder / "home/.pi/agent"
    agent.mkdir(parents=True)
    row = {"command": sys.executable, "args": [str(SERVER), "pull"], "fileTypes": [".demo"]}
    (agent / "lsp.json").write_text(json.dumps({"demo": row}))
    (agent / "settings.json").write_text(json.dumps({"lsp": {"enabled": servers > 0}}))


async def measure(folder: Path, servers: int) -> tuple[float, int]:
    """CPU per write in ms, and how many servers ran before."""
    configure(folder, servers)
    session = await make_session(folder, extensions=[extension], clock=SystemClock())
    async with session:
        await session.start()
        await session.tools.call("write", {"path": "a.txt", "content": TEXT}, caller="bench")
        early = await _running(session) if servers else 0
        await session.tools.call("write", {"path": "a.demo", "content": TEXT}, caller="bench")
        began = time.process_time()
        for number in range(WRITES):
            content = f"{TEXT}{number}\n"
            result = await session.tools.call(
                "write", {"path": "a.demo", "content": content}, caller="bench"
            )
            # Without diagnostics the figure would be that of a plain write.
            if ("diagnostics" in (result.details or {})) != (servers > 0):
                raise SystemExit(f"Write {number} had unexpected details: {result.details}")
        return (time.process_time() - began) * 1000 / WRITES, early


async def _running(session: object) -> int:
    status = await session.tools.call("lsp", {"action": "status"}, caller="bench")  # type: ignore[attr-defined]
    return len(status.details["servers"])


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        spent, early = asyncio.run(measure(Path(folder), int(sys.argv[1])))
    print(f"{spent:.3f} {early}")

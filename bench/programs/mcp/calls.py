"""Milliseconds per call of a tool of a server: ``calls client|bare CALLS``.

``client`` calls the tool of a session, without the guards of the session; ``bare`` writes and reads
the same lines without a client. The second figure is about how many tokens 200 tools take.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from pi.agent.tools.tool import ToolContext
from pi.batteries.mcp.adapter import extension
from pi.testing import make_session, says

SERVER = Path(__file__).with_name("echo_server.py")


async def bare(calls: int) -> float:
    """The time of the server and the pipes alone."""
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-I",
        SERVER,
        "1",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert child.stdin is not None and child.stdout is not None
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "tool_0"}}
    line = json.dumps(message).encode() + b"\n"
    for round in range(2):
        begin = time.perf_counter()
        for _ in range(calls if round else 10):
            child.stdin.write(line)
            json.loads(await child.stdout.readline())
        elapsed = time.perf_counter() - begin
    child.stdin.close()
    await child.wait()
    return elapsed / calls * 1000


async def client(calls: int, tools: int) -> tuple[float, float]:
    """The time of calls in a session, and the tokens of the declared tools."""
    server = {"command": sys.executable, "args": ["-I", str(SERVER), str(tools)]}
    with TemporaryDirectory() as folder:
        made = await make_session(
            Path(folder),
            says("ok"),
            extensions=[extension],
            environ=dict(os.environ),
            settings={"mcp": {"servers": {"s": server}}},
        )
        async with made as session:
            await session.start()
            await session.prompt("hi")
            declared = [tool for tool in session.tools.active() if tool.name.startswith("mcp")]
            size = sum(
                len(each.name) + len(each.description) + len(json.dumps(each.parameters))
                for each in declared
            )
            (tool,) = [t for t in session.tools.listed() if t.name == "mcp__s__tool_0"]
            for round in range(2):
                begin = time.perf_counter()
                for _ in range(calls if round else 10):
                    await tool.run({}, ToolContext("1", lambda result: None))
                elapsed = time.perf_counter() - begin
    return elapsed / calls * 1000, size / 4


def main(kind: str, calls: int) -> None:
    """Print the figures."""
    if kind == "bare":
        print(asyncio.run(bare(calls)), 0)
    else:
        elapsed, _ = asyncio.run(client(calls, 1))
        _, tokens = asyncio.run(client(10, 200))
        print(elapsed, tokens)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))

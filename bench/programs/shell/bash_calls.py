"""Calls of the bash tool in a session: ``bash_calls plain|session CALLS``.

Prints the wall time of one call of ``true`` in ms, the CPU time of this process for it in ms, and
the memory of the shell session in MB (0 without one).
"""

import asyncio
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from pi.batteries.shell_session.adapter import extension
from pi.extension import ToolContext
from pi.testing import make_session


async def main(kind: str, calls: int) -> None:
    """Call the tool directly: the loop around it is measured elsewhere."""
    settings: dict[str, Any] = {"bash": {"extended": kind == "session"}}
    with tempfile.TemporaryDirectory() as folder:
        made = await make_session(Path(folder), extensions=[extension], settings=settings)
        async with made as session:
            await session.start()
            [bash] = [tool for tool in session.tools.listed() if tool.name == "bash"]
            ctx = ToolContext("call", lambda result: None)

            async def call(command: str) -> str:
                arguments = bash.validate({"command": command})
                result = await bash.run(arguments, ctx)
                return str(result.content[0].text)

            pid = (await call("echo $$")).strip()
            memory = _memory(pid) if kind == "session" else 0.0
            begun, cpu = time.perf_counter(), time.process_time()
            for _ in range(calls):
                await call("true")
            wall = (time.perf_counter() - begun) / calls * 1e3
            print(wall, (time.process_time() - cpu) / calls * 1e3, memory)


def _memory(pid: str) -> float:
    """Private memory of a process in MB; 0 where the system does not report it."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0.0
    sizes = [line.split() for line in text.splitlines() if line.startswith("Private_")]
    return sum(int(words[1]) for words in sizes) / 1024


asyncio.run(main(sys.argv[1], int(sys.argv[2])))

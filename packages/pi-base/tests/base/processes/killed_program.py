"""A program with busy commands that is killed, as by ``kill -9`` of pi.

usage: python killed_program.py FOLDER ADOPTS SCRIPT…

Every script runs in bash with ``$DIR`` set to the folder, where it notes its process ids.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from pi.base.processes import Child, spawn, supervised
from pi.base.processes.terminal import ChildTerminal


async def main() -> None:
    """Start everything, report it, and wait to be killed."""
    folder, adopts, *scripts = sys.argv[1:]
    supervised.SUPERVISOR = supervised.SupervisorClient(adopts=adopts == "adopts")
    env = {"PATH": os.environ["PATH"], "DIR": folder, "PROGRAM": str(os.getpid())}
    # The terminal comes first: a script may stop the supervisor, which then starts nothing more.
    in_terminal = ["bash", "-c", "echo $$ > $DIR/terminal; exec sleep 600"]
    children: list[Child] = [await ChildTerminal().spawn(in_terminal, cwd=Path("/"), env=env)]
    for script in scripts:
        command = ["bash", "-c", script]
        children.append(await spawn(command, cwd=Path("/"), env=env, stdin="pipe"))
    Path(folder, "supervisor").write_text(str(supervised.SUPERVISOR.pid))
    await asyncio.gather(*(child.output.read() for child in children))
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())

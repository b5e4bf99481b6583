"""CPU of a turn in one long run: ``tool_turns TURNS PORT [ARGUMENT…]``.

Prints the CPU milliseconds of pi's main process per turn around turn 100, and at the end, and its
resident megabytes. The model calls a tool ``TURNS`` times, in one prompt to an RPC server.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

SPAN = 50
"""Turns on either side of turn 100, and before the end, over which the time is averaged."""


def main(turns: int, port: str, *arguments: str) -> None:
    """Run the prompt and print the figures."""
    with TemporaryDirectory() as name:
        home = Path(name)
        agent_dir = home / ".pi" / "agent"
        agent_dir.mkdir(parents=True)
        model = f"tools-{turns}"
        provider = {
            "baseUrl": f"http://127.0.0.1:{port}/v1",
            "api": "openai-completions",
            "apiKey": "k",
            "models": [{"id": model, "contextWindow": 1_000_000_000}],
        }
        (agent_dir / "models.json").write_text(json.dumps({"providers": {"mock": provider}}))
        process = subprocess.Popen(
            [sys.executable, "-m", "pi", "--mode", "rpc", "--model", f"mock/{model}", *arguments],
            cwd=home,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(home),
                "PI_OFFLINE": "1",
                "PI_NO_LOCAL": "1",
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        with process:
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write(b'{"type":"prompt","message":"go"}\n')
            process.stdin.flush()
            marks = {100 - SPAN: 0.0, 100 + SPAN: 0.0, turns - SPAN: 0.0, turns: 0.0}
            done = 0
            for line in process.stdout:
                if line.startswith(b'{"type":"tool_execution_end"'):
                    done += 1
                    if done in marks:
                        marks[done] = _cpu(process.pid)
                elif line.startswith(b'{"type":"agent_end"'):
                    break
            memory = _resident(process.pid)
            process.stdin.close()
        early, late = marks[100 + SPAN] - marks[100 - SPAN], marks[turns] - marks[turns - SPAN]
        print(early / (2 * SPAN), late / SPAN, memory)


def _cpu(pid: int) -> float:
    """CPU milliseconds of a process, without its children."""
    tasks = Path(f"/proc/{pid}/task")
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks.iterdir()) / 1e6


def _resident(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])

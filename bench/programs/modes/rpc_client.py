"""Drive an RPC server: ``rpc_client COMMAND…``; prints what a client waits for, and memory.

First the milliseconds from the start of the process to its first answer, and those of CPU that it
used for that; then those of a prompt from command to ``agent_settled``, then the megabytes that the
idle server occupies.
"""

import json
import subprocess
import sys
import time
from typing import IO

from bench.measure import processor_seconds, resident_memory

ROUNDS = 20
"""Prompts whose median counts, after one that does not."""


def main(command: list[str]) -> None:
    """Measure one server."""
    began = time.perf_counter()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin and server.stdout
        ask(server.stdin, server.stdout, {"type": "get_state"}, "response")
        first = time.perf_counter() - began
        cpu = processor_seconds(server.pid)
        rounds = sorted(prompt(server.stdin, server.stdout) for _ in range(ROUNDS + 1))
        memory = resident_memory(server.pid)
        server.stdin.close()
    print(first * 1e3, cpu * 1e3, rounds[len(rounds) // 2] * 1e3, memory / 1e6)


def prompt(commands: IO[bytes], records: IO[bytes]) -> float:
    """Seconds that one prompt takes."""
    began = time.perf_counter()
    ask(commands, records, {"type": "prompt", "message": "hi"}, "agent_settled")
    return time.perf_counter() - began


def ask(commands: IO[bytes], records: IO[bytes], command: dict[str, str], end: str) -> None:
    """Send a command and read until a record of type ``end`` has come."""
    commands.write(json.dumps(command).encode() + b"\n")
    commands.flush()
    while json.loads(records.readline())["type"] != end:
        pass


if __name__ == "__main__":
    main(sys.argv[1:])

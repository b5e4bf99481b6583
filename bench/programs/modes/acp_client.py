"""Drive pi over ACP or RPC: ``acp_client acp|rpc COMMAND…``; prints milliseconds.

First those from the start of the process to the first delta of its answer and its CPU until then,
then the CPU that the whole answer took, from the prompt to its end.
"""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Any

from bench.measure import processor_seconds


def main(mode: str, command: list[str]) -> None:
    """Measure one prompt."""
    began = time.perf_counter()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin and server.stdout
        prompt = acp_prompt if mode == "acp" else rpc_prompt
        delta, end = prompt(server.stdin, server.stdout)
        cpu = processor_seconds(server.pid)
        until(server.stdout, delta)
        first, until_then = time.perf_counter() - began, processor_seconds(server.pid)
        until(server.stdout, end)
        used = processor_seconds(server.pid) - cpu
        server.stdin.close()
        server.stdout.read()
    print(first * 1e3, until_then * 1e3, used * 1e3)


def acp_prompt(requests: IO[bytes], messages: IO[bytes]) -> tuple[bytes, bytes]:
    """Open a session and send a prompt; returns what marks the first delta and the end."""
    ask(requests, 1, "initialize", protocolVersion=1)
    until(messages, b'"id":1')
    ask(requests, 2, "session/new", cwd=str(Path.cwd()), mcpServers=[])
    session = json.loads(until(messages, b'"id":2'))["result"]["sessionId"]
    ask(requests, 3, "session/prompt", sessionId=session, prompt=[{"type": "text", "text": "hi"}])
    return b"agent_message_chunk", b'"id":3'


def rpc_prompt(commands: IO[bytes], records: IO[bytes]) -> tuple[bytes, bytes]:
    """Send a prompt when the session is there; returns the same."""
    send(commands, {"id": 1, "type": "get_state"})
    until(records, b'"get_state"')
    send(commands, {"id": 2, "type": "prompt", "message": "hi"})
    return b'"text_delta"', b'"agent_settled"'


def ask(requests: IO[bytes], id: int, method: str, **params: Any) -> None:
    """Send a JSON-RPC request."""
    send(requests, {"jsonrpc": "2.0", "id": id, "method": method, "params": params})


def send(lines: IO[bytes], message: Any) -> None:
    """Send a line."""
    lines.write(json.dumps(message).encode() + b"\n")
    lines.flush()


def until(messages: IO[bytes], mark: bytes) -> bytes:
    """The first line with a mark."""
    while mark not in (line := messages.readline()):
        if not line:
            raise SystemExit("the server has ended")
    return line


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])

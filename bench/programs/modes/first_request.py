"""When the first request of a program arrives: ``first_request COMMAND…``, with PORT for a port.

Prints the milliseconds of CPU that the program had used by then, and those since its start. It is
run twice, because the first start of all makes folders and indexes.
"""

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence

from bench.measure import DEADLINE, processor_seconds

ANSWER = b"""HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r
data: {"choices":[{"index":0,"delta":{"content":"hi"}}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

data: [DONE]

"""


def main(command: Sequence[str]) -> None:
    """Measure one program."""
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(DEADLINE)
        port = str(server.getsockname()[1])
        words = [port if word == "PORT" else word for word in command]
        environ = {**os.environ, "TMPDIR": folder}
        arrival(words, server, environ)
        cpu, wall = arrival(words, server, environ)
    print(cpu * 1e3, wall * 1e3)


def arrival(
    words: Sequence[str], server: socket.socket, environ: Mapping[str, str]
) -> tuple[float, float]:
    """Seconds of CPU, and of time, until the request is there; returns when the program ends."""
    began = time.perf_counter()
    with subprocess.Popen(words, env=environ, stdout=subprocess.DEVNULL) as program:
        try:
            connection, _ = server.accept()
            with connection:
                received = read_request(connection)
                seen = processor_seconds(program.pid), received - began
                connection.sendall(ANSWER)
        except BaseException:
            program.kill()
            raise
    return seen


def read_request(connection: socket.socket) -> float:
    """When the last byte of a request was there."""
    head, _, body = connection.recv(1 << 16).partition(b"\r\n\r\n")
    remaining = int(head.lower().partition(b"content-length:")[2].split()[0]) - len(body)
    while remaining > 0:
        remaining -= len(connection.recv(1 << 16))
    return time.perf_counter()


if __name__ == "__main__":
    main(sys.argv[1:])

"""Connects a sandboxed command with the proxy outside; the program of a process in the sandbox.

``python -I -S sandbox_relay.py SOCKET PORT COMMAND…`` listens on a loopback port of the sandbox,
which has a network of its own, and passes every connection on to the Unix socket of the proxy. Then
it becomes the command. It imports nothing of pi, and ends with the command.
"""

from __future__ import annotations

import ctypes
import os
import selectors
import signal
import socket
import sys
import threading

FAILED = 125
PR_SET_PDEATHSIG = 1
CHUNK = 65536


def main(arguments: list[str]) -> None:
    """Start the relay in a child process and run the command."""
    path, port, *command = arguments
    try:
        server = socket.create_server(("127.0.0.1", int(port)))
        if os.fork() == 0:
            relay(server, path)
        server.close()
    except OSError as error:
        fail(f"the proxy of the sandbox cannot be reached: {error.strerror}")
    try:
        os.execvpe(command[0], command, os.environ)
    except OSError as error:
        fail(f"{command[0]}: {error.strerror}")


def fail(reason: str) -> None:
    """Write why the command is not run, and exit."""
    os.write(2, f"pi: {reason}\n".encode())
    os._exit(FAILED)


def relay(server: socket.socket, path: str) -> None:
    """Serve connections until the command ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    # The streams of the command must end with it.
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(null, descriptor)
    os.setsid()
    while True:
        client, _ = server.accept()
        threading.Thread(target=connect, args=(client, path), daemon=True).start()


def connect(client: socket.socket, path: str) -> None:
    """Pass the bytes of one connection on, in both directions."""
    with client, socket.socket(socket.AF_UNIX) as proxy:
        try:
            proxy.connect(path)
            exchange(client, proxy)
        except OSError:
            return  # the other side is gone


def exchange(first: socket.socket, second: socket.socket) -> None:
    """Copy bytes until both directions have ended."""
    others = {first: second, second: first}
    with selectors.DefaultSelector() as selector:
        for side in others:
            selector.register(side, selectors.EVENT_READ)
        while selector.get_map():
            for key, _ in selector.select():
                side = first if key.fileobj is first else second
                data = side.recv(CHUNK)
                if data:
                    others[side].sendall(data)
                else:
                    selector.unregister(side)
                    others[side].shutdown(socket.SHUT_WR)


if __name__ == "__main__":
    main(sys.argv[1:])

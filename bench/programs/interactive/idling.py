"""Percent of a CPU over ten seconds in which nothing happens: ``idling quiet|spinner|cat``.

``spinner`` waits for a model that never answers; ``cat`` is the floor.
"""

import socket
import sys
import time

from bench.programs.interactive.sitting import READY, sitting
from bench.terminal import Terminal, terminal

SECONDS = 10.0
SETTLE = 3.0
"""Seconds after the start in which caches and branches are still read."""


def percent(screen: Terminal) -> float:
    """The CPU share of the program from now on."""
    screen.watch(SETTLE)
    before, began = screen.cpu(), time.monotonic()
    screen.watch(SECONDS)
    return (screen.cpu() - before) / (time.monotonic() - began) * 100


def at_work(port: int, *, with_prompt: bool) -> float:
    """The CPU share of ``pi``."""
    with sitting(port, "echo-20") as screen:
        screen.wait_for(READY)
        if with_prompt:
            screen.send(b"hello\r")
            screen.wait_for(rb"to interrupt")
        return percent(screen)


def measured(name: str) -> float:
    """The figure by its name."""
    if name == "cat":
        with terminal(["cat"]) as screen:
            return percent(screen)
    with socket.create_server(("127.0.0.1", 0)) as silent:  # accepts a request and never answers
        return at_work(silent.getsockname()[1], with_prompt=name == "spinner")


sys.stdout.write(f"{measured(sys.argv[1]):.3f}")

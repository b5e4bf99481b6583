"""Milliseconds from a key to its echo, the median of many: ``typing PORT``.

``typing bare`` measures the same for a Python that echoes what it reads.
"""

import statistics
import sys

from bench.programs.interactive.sitting import READY, sitting_or_bare
from bench.terminal import Terminal

_BARE = (
    "import os, tty; tty.setraw(0); os.write(1, ']0;\\u03c0'.encode())\n"
    "while True: os.write(1, os.read(0, 1))"
)
_KEYS = [bytes([letter]) for letter in b"QZXJVKWY" * 5]


def measure(screen: Terminal) -> str:
    """The figure."""
    screen.wait_for(READY)
    screen.watch(1.0)
    return f"{statistics.median(echo(screen, key) for key in _KEYS) * 1e3:.3f}"


def echo(screen: Terminal, key: bytes) -> float:
    """Seconds from a key to its echo; users type at most twenty keys a second."""
    screen.send(key)
    waited = screen.wait_for(key)
    screen.watch(0.05)
    return waited


with sitting_or_bare(sys.argv[1], _BARE) as screen:
    sys.stdout.write(measure(screen))

"""Resident megabytes while nothing happens: ``remembering idle|resumed|bare PORT``.

``resumed`` has opened a session of 10,000 messages; ``bare`` is a Python with an event loop.
"""

import sys
import tempfile
from pathlib import Path

from bench.programs.interactive.sitting import READY, sitting
from bench.programs.session.sample import make_session
from bench.terminal import Terminal, terminal

MESSAGES = 10_000
SETTLE = 3.0
_BARE = "import asyncio; print('loop', flush=True); asyncio.run(asyncio.sleep(60))"


def measure(screen: Terminal, ready: bytes) -> None:
    """Write the figure once everything is there."""
    screen.wait_for(ready)
    screen.watch(SETTLE)
    sys.stdout.write(f"{screen.memory() / 1e6:.1f}")


what, port = sys.argv[1], int(sys.argv[2])
if what == "bare":
    with terminal([sys.executable, "-c", _BARE]) as screen:
        measure(screen, b"loop")
elif what == "idle":
    with sitting(port, "echo-20") as screen:
        measure(screen, READY)
else:
    with tempfile.TemporaryDirectory() as folder:
        file = make_session(Path(folder), MESSAGES)
        # Its folder has to be there, or else pi asks about it.
        file.write_bytes(file.read_bytes().replace(b'"/somewhere"', f'"{folder}"'.encode(), 1))
        with sitting(port, "echo-20", "--session", str(file)) as screen:
            measure(screen, rb"earlier messages")

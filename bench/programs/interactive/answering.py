"""Milliseconds of CPU and bytes for an answer of 5,000 deltas, 1,000 a second: ``answering PORT``.

The bytes are those that were written to the terminal, per character of the answer. ``answering
plain`` tells the same of a Python that writes the deltas as they are.
"""

import sys

from bench.programs.interactive.sitting import READY, sitting
from bench.protocols.script import words
from bench.terminal import Terminal, terminal

DELTAS = 5000
_TEXT = "".join(words(DELTAS))
_PLAIN = f"""\
import sys
from bench.protocols.script import words
sys.stdin.readline()
for delta in words({DELTAS}):
    sys.stdout.write(delta)
    sys.stdout.flush()
print("\\u2193", flush=True)
sys.stdin.readline()
"""


def told(screen: Terminal, keys: bytes) -> str:
    """Both figures, of what follows when keys are pressed."""
    screen.watch(1.0)
    cpu, written = screen.cpu(), len(screen.output)
    screen.send(keys)
    screen.wait_for("↓".encode())  # the footer counts what was said, once it is all there
    screen.watch(0.5)
    spent, wrote = screen.cpu() - cpu, len(screen.output) - written
    return f"{spent * 1e3:.1f} {wrote / len(_TEXT):.3f}"


if sys.argv[1] == "plain":
    with terminal([sys.executable, "-c", _PLAIN]) as screen:
        sys.stdout.write(told(screen, b"\n"))
else:
    with sitting(int(sys.argv[1]), f"echo-{DELTAS}@1000") as screen:
        screen.wait_for(READY)
        sys.stdout.write(told(screen, b"go\r"))

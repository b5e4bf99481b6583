"""Milliseconds of CPU for an answer on the screen: ``answering PORT DELTAS[@RATE]``.

Then the kilobytes that were written to the terminal, and the bytes per character of the answer.
``answering plain DELTAS`` measures the same for a Python that writes the deltas as they are.
"""

import sys

from bench.programs.interactive.sitting import READY, sitting
from bench.protocols.script import words
from bench.terminal import Terminal, terminal

_PLAIN = """\
import sys
from bench.protocols.script import words
sys.stdin.readline()
for delta in words({deltas}):
    sys.stdout.write(delta)
    sys.stdout.flush()
print("\\u2193", flush=True)
sys.stdin.readline()
"""


def measure(screen: Terminal, keys: bytes, deltas: int) -> str:
    """The figures of the answer that follows when ``keys`` are pressed."""
    screen.watch(1.0)
    cpu, written = screen.cpu(), len(screen.output)
    screen.send(keys)
    screen.wait_for("↓".encode())  # the footer has the counts once the answer is complete
    screen.watch(0.5)
    spent, wrote = screen.cpu() - cpu, len(screen.output) - written
    return f"{spent * 1e3:.1f} {wrote / 1e3:.2f} {wrote / len(''.join(words(deltas))):.3f}"


where, script = sys.argv[1:]
count = int(script.partition("@")[0])
if where == "plain":
    with terminal([sys.executable, "-c", _PLAIN.format(deltas=count)]) as screen:
        sys.stdout.write(measure(screen, b"\n", count))
else:
    with sitting(int(where), f"echo-{script}") as screen:
        screen.wait_for(READY)
        sys.stdout.write(measure(screen, b"go\r", count))

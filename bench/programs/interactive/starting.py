"""Milliseconds until the first frame, and until the first key is seen: ``starting PORT``.

Then those of CPU that the program had used when the first frame was there, and how many times as
long as the first frame it took until the footer had the model and until the session was open.

``starting bare`` measures the same for a Python that writes a line and echoes what it reads.
"""

import sys

from bench.programs.interactive.sitting import FRAME, MODEL, READY, sitting_or_bare
from bench.terminal import Terminal

_BARE = "import sys, tty; tty.setraw(0); sys.stdout.write('\\u2500'); sys.stdout.flush()\n" + (
    "sys.stdout.write(sys.stdin.read(1)); sys.stdout.flush()"
)
_KEY = b"Q"


def until_complete(screen: Terminal) -> str:
    """Multiples of the time of the first frame."""
    frame = screen.wait_for(FRAME)
    return f"{screen.wait_for(MODEL) / frame:.3f} {screen.wait_for(READY) / frame:.3f}"


def measure(screen: Terminal) -> str:
    """The figures; the second is from the start, too."""
    frame, cpu = screen.wait_for(FRAME), screen.cpu()
    screen.send(_KEY)
    return f"{frame * 1e3:.2f} {(frame + screen.wait_for(_KEY)) * 1e3:.2f} {cpu * 1e3:.2f}"


with sitting_or_bare(sys.argv[1], _BARE) as screen:
    sys.stdout.write(measure(screen))
if sys.argv[1] == "bare":
    sys.stdout.write(" 1 1")  # its first line is all there is
else:
    with sitting_or_bare(sys.argv[1], _BARE) as screen:
        sys.stdout.write(f" {until_complete(screen)}")

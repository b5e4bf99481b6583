"""Bytes per character of 5,000 deltas: ``burst together``, ``burst spread`` or ``burst plain``.

``together`` paints once; ``spread`` paints 60 frames for 100 deltas and prints the bytes a frame
has beyond the new text; ``plain`` is the text written as it is.
"""

import sys

from bench.programs.tui.counting import Program, deltas

DELTAS = 5000
DELTAS_PER_SECOND, FRAMES_PER_SECOND = 100, 60


def together() -> float:
    """Everything arrives before the next frame."""
    program = Program()
    before = program.terminal.count
    text = "".join(deltas(DELTAS))
    for delta in deltas(DELTAS):
        program.add(delta)
    program.frame()
    return (program.terminal.count - before) / len(text)


def spread() -> float:
    """A few deltas arrive before each frame."""
    program = Program()
    before, frames, due = program.terminal.count, 0, 0.0
    text = list(deltas(DELTAS))
    for number, delta in enumerate(text):
        program.add(delta)
        if number / DELTAS_PER_SECOND >= due:
            due += 1 / FRAMES_PER_SECOND
            program.frame()
            frames += 1
    return (program.terminal.count - before - len("".join(text).encode())) / frames


if __name__ == "__main__":
    match sys.argv[1]:
        case "together":
            print(together())
        case "spread":
            print(spread())
        case _:
            print(1.0)

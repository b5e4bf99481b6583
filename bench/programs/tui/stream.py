"""CPU of one delta with its frame, in µs, after so many others: ``stream DELTAS``."""

import sys

from bench.programs.tui.counting import Program, cpu, deltas

MEASURED = 1000


def main(before: int) -> None:
    """Stream, and print what one delta costs after the first ones."""
    program = Program()
    text = list(deltas(before + MEASURED))
    for delta in text[:before]:
        program.add(delta)
        program.frame()

    def rest() -> None:
        for delta in text[before:]:
            program.add(delta)
            program.frame()

    print(cpu(rest) / MEASURED * 1e6)


if __name__ == "__main__":
    main(int(sys.argv[1]))

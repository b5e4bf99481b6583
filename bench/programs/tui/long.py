"""One small change below 10,000 rows: ``long tick cpu``, ``long tick bytes``, ``long key cpu``.

CPU in µs. ``plain`` writes the same bytes to nowhere.
"""

import sys
from pathlib import Path

from bench.programs.tui.counting import Program, cpu

ROWS, TIMES = 10_000, 500


class Ticking:
    """Ticks the spinner of a program, or types into its editor."""

    def __init__(self) -> None:
        self.program = Program(rows=ROWS)
        self.program.frame()
        self._now = 0.0

    def tick(self) -> None:
        """The next frame of the spinner."""
        self._now += 0.081
        self.program.loader.tick(self._now)
        self.program.tui.request_component_render(self.program.loader)
        self.program.tui.render_now()

    def key(self) -> None:
        """One more character in the editor."""
        self.program.editor.handle_input("x")
        self.program.frame()


def main(what: str, figure: str) -> None:
    """Do it many times and print one figure."""
    ticking = Ticking()
    act = ticking.tick if what == "tick" else ticking.key
    before = ticking.program.terminal.count
    seconds = cpu(lambda: [act() for _ in range(TIMES)])
    size = (ticking.program.terminal.count - before) / TIMES
    if figure == "plain":
        with Path("/dev/null").open("wb", buffering=0) as nowhere:
            text = b"x" * round(size)
            seconds = cpu(lambda: [nowhere.write(text) for _ in range(TIMES)])
    print(size if figure == "bytes" else seconds / TIMES * 1e6)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])

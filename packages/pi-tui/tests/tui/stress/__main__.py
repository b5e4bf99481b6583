"""``python -m tests.tui.stress --seeds 5000``: the render contract under random operations."""

from __future__ import annotations

import argparse
import sys
import time

from tests.tui.stress.shrink import failure_of


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000, help="how many to run")
    parser.add_argument("--first", type=int, default=0, help="the first one")
    arguments = parser.parse_args()
    begin = time.perf_counter()
    for seed in range(arguments.first, arguments.first + arguments.seeds):
        failure = failure_of(seed)
        if failure is not None:
            sys.stdout.write(f"{failure}\n")
            return 1
    seconds = time.perf_counter() - begin
    sys.stdout.write(f"{arguments.seeds} seeds in {seconds:.0f} s, none failed\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Runs pi with little memory and measures how long it blocks its event loop.

usage: python bounded_child.py REPORT MEGABYTES ARGUMENTS…

The report is a JSON object: see ``tests.bounded.Report``.
"""

from __future__ import annotations

import atexit
import json
import sys
from pathlib import Path


def main() -> int:
    """Run the pi command inside the limits."""
    report, megabytes, *words = sys.argv[1:]
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from tests.bounded import LoopWatchdog, limit_memory, peak_memory

    limit_memory(int(megabytes))
    watchdog = LoopWatchdog()
    watchdog.install()

    def write() -> None:
        found = {
            "seconds": watchdog.longest,
            "where": watchdog.where,
            "peak_mb": peak_memory(),
        }
        Path(report).write_text(json.dumps(found))

    atexit.register(write)
    from pi.cli.main import main as run_pi

    return run_pi(words)


if __name__ == "__main__":
    sys.exit(main())

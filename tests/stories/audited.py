"""Runs pi and logs what it opens, lists, starts and imports as lines of JSON.

Every line is written before pi continues, so that a test can read the log at any time.

usage: python audited.py LOG cli ARGUMENTS…   the pi command
       python audited.py LOG sdk PROMPT       a session of ``pi.sdk`` that trusts nothing
       python audited.py LOG sdk-trusted PROMPT
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

STARTS = frozenset({"subprocess.Popen", "os.exec", "os.posix_spawn", "os.system", "os.startfile"})
LISTS = frozenset({"os.listdir", "os.scandir"})
log = -1


def hook(event: str, arguments: tuple[Any, ...]) -> None:
    """Log relevant events, with absolute paths."""
    if event == "open" and isinstance(arguments[0], str | bytes | os.PathLike):
        note("open", str(Path(os.fsdecode(arguments[0])).absolute()))
    elif event in LISTS and isinstance(arguments[0], str | bytes | os.PathLike):
        note("list", str(Path(os.fsdecode(arguments[0])).absolute()))
    elif event in STARTS:
        note("start", str(arguments[:2]))
    elif event == "import" and isinstance(arguments[1], str):
        note("import", str(Path(arguments[1]).absolute()))


def note(kind: str, what: str) -> None:
    """Write one line. ``os.write`` raises no audit event."""
    os.write(log, json.dumps([kind, what]).encode() + b"\n")


def complain(text: str) -> None:
    """Print a problem that pi reports to its caller."""
    sys.stderr.write(f"{text}\n")


def main() -> int:
    """Install the hook and run the requested command."""
    global log
    path, kind, *words = sys.argv[1:]
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
    sys.addaudithook(hook)
    if kind == "cli":
        from pi.cli.main import main as run_pi

        return run_pi(words)
    from pi.sdk import run

    trusted = True if kind == "sdk-trusted" else None
    answer = run(words[0], model="mine/m", trust=trusted, report=complain)
    sys.stdout.write(f"{answer}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

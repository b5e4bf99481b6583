"""Runs pi and writes down what it opens, starts and imports.

usage: python audited.py LOG cli ARGUMENTS…   the pi command
       python audited.py LOG sdk PROMPT       a session of ``pi.sdk``, told to trust nothing
       python audited.py LOG sdk-trusted PROMPT
"""

from __future__ import annotations

import atexit
import json
import os
import sys
from pathlib import Path
from typing import Any

STARTS = frozenset({"subprocess.Popen", "os.exec", "os.posix_spawn", "os.system", "os.startfile"})
seen: list[list[str]] = []


def hook(event: str, arguments: tuple[Any, ...]) -> None:
    """Note what matters; paths as they are from the directory that the process is in."""
    if event == "open" and isinstance(arguments[0], str | bytes | os.PathLike):
        seen.append(["open", str(Path(os.fsdecode(arguments[0])).absolute())])
    elif event in STARTS:
        seen.append(["start", str(arguments[:2])])
    elif event == "import" and isinstance(arguments[1], str):
        seen.append(["import", str(Path(arguments[1]).absolute())])


def complain(text: str) -> None:
    """Tell what pi tells the program around it."""
    sys.stderr.write(f"{text}\n")


def main() -> int:
    """Do as the command line says, with the hook in place."""
    log, kind, *words = sys.argv[1:]
    atexit.register(lambda: Path(log).write_text(json.dumps(seen)))
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

"""Helpers that every Python kernel has. Runs in the namespace of the cells, not in pi.

Each helper reports what it did as a status event, which pi shows beside the cell. The file works in
the runner of pi and in a Jupyter kernel: it needs ``display`` only.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

STATUS_TYPE = "application/x-pi-status"


def status(op: str, **details: Any) -> None:
    """Report what the cell does: ``status("train", epoch=3)``."""
    display({STATUS_TYPE: {"op": op, **details}}, raw=True)  # type: ignore[name-defined]  # noqa: F821


def read(path: str | Path, offset: int = 1, limit: int | None = None) -> str:
    """Return the text of a file, or ``limit`` lines of it from line ``offset`` on."""
    text = Path(path).expanduser().read_text(encoding="utf-8", errors="replace")
    if offset > 1 or limit is not None:
        end = None if limit is None else offset - 1 + limit
        text = "".join(text.splitlines(keepends=True)[offset - 1 : end])
    status("read", path=str(path), chars=len(text))
    return text


def write(path: str | Path, text: str) -> None:
    """Write a text to a file; missing folders are created."""
    file = Path(path).expanduser()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    status("write", path=str(path), chars=len(text))


def append(path: str | Path, text: str) -> None:
    """Append a text to a file."""
    with Path(path).expanduser().open("a", encoding="utf-8") as file:
        file.write(text)
    status("append", path=str(path), chars=len(text))


def find(pattern: str, path: str | Path = ".") -> list[str]:
    """Return the paths below ``path`` that match a glob, such as ``**/*.py``, in order."""
    paths = sorted(str(path) for path in Path(path).expanduser().glob(pattern))
    status("find", pattern=pattern, count=len(paths))
    return paths


def sh(command: str, timeout: float | None = None) -> str:
    """Run a shell command and return its output, errors included; raises if it fails."""
    import subprocess  # deferred: every kernel starts with this file

    done = subprocess.run(
        command,
        shell=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=timeout,
    )
    status("sh", command=command, code=done.returncode)
    if done.returncode:
        raise RuntimeError(f"{command!r} failed with exit code {done.returncode}:\n{done.stdout}")
    return done.stdout


def env(name: str | None = None, value: Any = None) -> Any:
    """Return a variable, or set it; without arguments return all of them."""
    if name is None:
        return dict(os.environ)
    if value is not None:
        os.environ[name] = str(value)
        status("env", name=name)
    return os.environ.get(name)

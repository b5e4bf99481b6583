"""Commands about who answers, and who pays for it."""

from __future__ import annotations

from pi.ai.models.model import Model
from pi.ai.providers.chosen_servers import ServerNotChosen
from pi.ai.providers.embedded import SMALL_MODEL
from pi.base.errors import PiError
from pi.coding.models.registry import full_name
from pi.modes.interactive.dialogs.accounts import log_in, log_out
from pi.modes.interactive.dialogs.first_run import has_embedded
from pi.modes.interactive.dialogs.model_picker import may_ask_server, pick_model, pick_thinking
from pi.modes.interactive.dialogs.model_scope import pick_scope
from pi.modes.interactive.ui import Ui


async def model(ui: Ui, arguments: str) -> None:
    """Have another model answer: the one that is typed, or chosen from a list."""
    if arguments:
        named = await _picked(ui, arguments)
        if named is None:
            return
        ui.notify(f"Model: {full_name(named)}")
        if named not in ui.port.models.offered():
            who = named.provider
            ui.notify(f"{who} has no credentials yet; /login {who} stores some.", "warning")
        return
    picked = await pick_model(ui)
    if picked is None or not await _may_use(ui, picked.model):
        return
    chosen = await ui.port.models.select_id(picked.model.provider, picked.model.id, anew=True)
    if picked.keep:
        ui.port.settings.set({"defaultProvider": chosen.provider, "defaultModel": chosen.id})
    ui.notify(f"Model: {full_name(chosen)}{', also in new sessions' if picked.keep else ''}")


async def thinking(ui: Ui, arguments: str) -> None:
    """Have the model think more, or less."""
    models = ui.port.models
    if arguments:
        if arguments not in models.levels():
            levels = ", ".join(models.levels())
            raise PiError(f'"{arguments}" is no level of this model.', hint=f"It has: {levels}.")
        await models.set_thinking_level(arguments)
        ui.notify(f"Thinking: {models.thinking_level}")
        return
    picked = await pick_thinking(ui)
    if picked is None:
        return
    await models.set_thinking_level(picked.level)
    if picked.keep:
        ui.port.settings.set({"defaultThinkingLevel": picked.level})
    ui.notify(f"Thinking: {picked.level}{', also in new sessions' if picked.keep else ''}")


async def scoped_models(ui: Ui, arguments: str) -> None:
    """Choose the models to cycle through."""
    picked = await pick_scope(ui)
    if picked is None:
        return
    ui.port.models.set_scope(picked.names)
    if picked.keep:
        ui.port.settings.set({"enabledModels": list(picked.names) or None})
    number = len(picked.names)
    count = f"{number} model{'s' * (number != 1)}" if number else "all models"
    ui.notify(f"Cycling through {count}{', also in new sessions' if picked.keep else ''}")


async def login(ui: Ui, arguments: str) -> None:
    """Log in; whoever had no model can choose one now."""
    if await log_in(ui, arguments) and ui.port.models.current is None:
        await model(ui, "")


async def logout(ui: Ui, arguments: str) -> None:
    """Forget a login or a key."""
    if (name := await log_out(ui, arguments)) is not None:
        ui.notify(f"Logged out of {name}.")


async def _picked(ui: Ui, pattern: str) -> Model | None:
    """The model that a pattern means; ``None`` if the user declines the new owner of its server."""
    try:
        return await ui.port.models.select(pattern)
    except ServerNotChosen as problem:
        refused = problem
    for standing in ui.port.models.found():
        if standing.provider == pattern.partition("/")[0]:
            if not await may_ask_server(ui, standing.provider):
                return None
            return await ui.port.models.select(pattern, anew=True)
    raise refused


async def _may_use(ui: Ui, wanted: Model) -> bool:
    """Whether it can answer, if need be after a login, a download or a question."""
    if wanted in ui.port.models.offered():
        if wanted == SMALL_MODEL:
            return await has_embedded(ui)
        return await may_ask_server(ui, wanted.provider)
    return await log_in(ui, wanted.provider) and wanted in ui.port.models.offered()

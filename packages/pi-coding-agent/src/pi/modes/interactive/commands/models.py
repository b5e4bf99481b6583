"""Commands about models and credentials."""

from __future__ import annotations

from pi.ai.models.model import Model
from pi.ai.providers.chosen_servers import ServerNotChosen
from pi.ai.providers.embedded import SMALL_MODEL
from pi.base.errors import PiError
from pi.coding.models.registry import full_name
from pi.modes.interactive.dialogs.accounts import log_in, log_out
from pi.modes.interactive.dialogs.first_run import has_embedded
from pi.modes.interactive.dialogs.model_picker import may_ask_server, pick_model
from pi.modes.interactive.dialogs.model_scope import pick_scope
from pi.modes.interactive.dialogs.thinking_picker import pick_thinking
from pi.modes.interactive.ui import Ui


async def model(ui: Ui, arguments: str) -> None:
    """Select the model: as typed, or from a list."""
    if arguments:
        named = await _find_model(ui, arguments)
        if named is None:
            return
        ui.notify(f"Model: {full_name(named)}")
        if named not in ui.port.models.registry.get_offered():
            provider = named.provider
            ui.notify(
                f"{provider} has no credentials yet; /login {provider} stores some.", "warning"
            )
        return
    picked = await pick_model(ui)
    if picked is None or not await _may_use(ui, picked.model):
        return
    chosen = await ui.port.models.select_id(picked.model.provider, picked.model.id, anew=True)
    if picked.as_default:
        ui.port.settings.set({"defaultProvider": chosen.provider, "defaultModel": chosen.id})
    ui.notify(f"Model: {full_name(chosen)}{', also in new sessions' if picked.as_default else ''}")


async def thinking(ui: Ui, arguments: str) -> None:
    """Select the thinking level."""
    models = ui.port.models
    if arguments:
        if arguments not in models.levels():
            levels = ", ".join(models.levels())
            raise PiError(
                f'"{arguments}" is not a thinking level of this model.', hint=f"It has: {levels}."
            )
        await models.set_thinking_level(arguments)
        ui.notify(f"Thinking: {models.thinking_level}")
        return
    picked = await pick_thinking(ui)
    if picked is None:
        return
    await models.set_thinking_level(picked.level)
    if picked.as_default:
        ui.port.settings.set({"defaultThinkingLevel": picked.level})
    ui.notify(f"Thinking: {picked.level}{', also in new sessions' if picked.as_default else ''}")


async def scoped_models(ui: Ui, arguments: str) -> None:
    """Select the models to cycle through."""
    picked = await pick_scope(ui)
    if picked is None:
        return
    ui.port.models.set_scope(picked.names)
    if picked.as_default:
        ui.port.settings.set({"enabledModels": list(picked.names) or None})
    number = len(picked.names)
    count = f"{number} model{'s' * (number != 1)}" if number else "all models"
    ui.notify(f"Cycling through {count}{', also in new sessions' if picked.as_default else ''}")


async def login(ui: Ui, arguments: str) -> None:
    """Log in; without a model, the user can choose one afterwards."""
    if await log_in(ui, arguments) and ui.port.models.current is None:
        await model(ui, "")


async def logout(ui: Ui, arguments: str) -> None:
    """Remove a login or an API key."""
    if (name := await log_out(ui, arguments)) is not None:
        ui.notify(f"Logged out of {name}.")


async def _find_model(ui: Ui, pattern: str) -> Model | None:
    """Return the model that matches a pattern.

    ``None`` if the user rejects the owner of its server.
    """
    try:
        return await ui.port.models.select(pattern)
    except ServerNotChosen as error:
        refused = error
    for standing in ui.port.models.registry.not_chosen():
        if standing.provider == pattern.partition("/")[0]:
            if not await may_ask_server(ui, standing.provider):
                return None
            return await ui.port.models.select(pattern, anew=True)
    raise refused


async def _may_use(ui: Ui, model: Model) -> bool:
    """Return whether the model is available, after a login, a download or a question if needed."""
    if model in ui.port.models.registry.get_offered():
        if model == SMALL_MODEL:
            return await has_embedded(ui)
        return await may_ask_server(ui, model.provider)
    return await log_in(ui, model.provider) and model in ui.port.models.registry.get_offered()

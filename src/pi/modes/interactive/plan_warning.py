"""A word to who uses a plan of Anthropic: it may bill what other programs use apart from it."""

from __future__ import annotations

from pi.modes.interactive.ui import Ui

PROVIDER = "anthropic"
WARNING = (
    "You are logged in with a plan. Anthropic may bill what pi uses as extra usage, beyond the"
    " plan. Set warnings.anthropicExtraUsage to false to be told no more."
)


async def warn_of_extra_usage(ui: Ui) -> None:
    """Tell it if the login is what the model is asked with, and the person wants to be told."""
    model, wanted = ui.port.models.current, ui.port.settings.values.warnings.anthropic_extra_usage
    if model is None or model.provider != PROVIDER or not wanted:
        return
    accounts = await ui.port.accounts.all()
    if any(each.provider.id == PROVIDER and each.logged_in for each in accounts):
        ui.notify(WARNING, "warning")

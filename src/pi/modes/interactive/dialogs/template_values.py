"""The values that a prompt template needs and that were not given with its name."""

from __future__ import annotations

from pi.coding.resources.prompts import MissingValues
from pi.modes.interactive.dialogs.questions import ask_text
from pi.modes.interactive.ui import Ui


async def ask_values(ui: Ui, missing: MissingValues) -> dict[str, str] | None:
    """Ask for one value after another; ``None`` if the person gives up."""
    values = {}
    for number, name in enumerate(missing.names, 1):
        count = f" ({number} of {len(missing.names)})" if len(missing.names) > 1 else ""
        value = await ask_text(ui, f"/{missing.template}: {name}{count}")
        if value is None:
            return None
        values[name] = value
    return values

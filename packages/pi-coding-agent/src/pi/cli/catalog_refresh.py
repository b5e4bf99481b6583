"""Updates the model catalog in the background, at most once a day.

Requests go to the sources of the setting ``catalog.sources``: by default the lists of the providers
that have credentials, and two public lists, to which nothing about the user is sent.
"""

from __future__ import annotations

from pathlib import Path

from pi.ai.catalog_update import CatalogUpdate
from pi.ai.collection import Models
from pi.ai.models.updated_catalog import FILE
from pi.coding.runtime.machine import Machine
from pi.coding.settings.settings import Settings
from pi.coding.settings.values import CatalogValues

DELAY_SECONDS = 5.0
"""Seconds after the start: a session that is opened for a moment sends nothing."""


def catalog_update(
    models: Models, host: Machine, values: CatalogValues | None = None
) -> CatalogUpdate:
    """Return the update of the user's catalog, with the sources of the settings."""
    if values is None:
        values = Settings.of(host.agent_dir, Path.cwd(), clock=host.clock).values.catalog
    path = host.agent_dir / FILE
    return CatalogUpdate(models, path, sources=values.sources, offline=host.offline)


async def refresh_catalog(models: Models, host: Machine, values: CatalogValues) -> None:
    """Update the catalog if it is due. Never raises, and can be cancelled at any time."""
    if not values.refresh or host.offline:
        return
    await host.clock.sleep(DELAY_SECONDS)
    await catalog_update(models, host, values).run_if_due(models.services())

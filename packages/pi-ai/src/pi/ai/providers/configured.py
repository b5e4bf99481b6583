"""The providers of the table and of models.json, each as the class that serves it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from pi.ai.models.catalog import bundled_models
from pi.ai.models.custom import CustomProvider, customised
from pi.ai.models.model import Model
from pi.ai.models.store import ModelsStore
from pi.ai.models.updated_catalog import UpdatedCatalog
from pi.ai.provider import Provider
from pi.ai.providers.listed_server import ListedServer
from pi.ai.providers.rows import BUILT_IN
from pi.ai.providers.wire_provider import (
    AzureProvider,
    CopilotProvider,
    GatewayProvider,
    WireProvider,
    openai_models,
)
from pi.base.records import replace

_BUILT_IN_IDS = frozenset(row.id for row in BUILT_IN)


def wire_providers(
    rows: Iterable[Provider],
    changes: Mapping[str, CustomProvider],
    store: ModelsStore,
    catalog: UpdatedCatalog,
    *,
    gateway_url: str | None = None,
) -> list[WireProvider]:
    """Return the providers of ``rows``, in their order and as ``models.json`` changes them.

    Bundled models are those of ``catalog``.

    ``gateway_url`` is the address of Radius, if it is not the public one.
    """
    return [_provider(row, changes.get(row.id), store, catalog, gateway_url) for row in rows]


def _provider(
    row: Provider,
    change: CustomProvider | None,
    store: ModelsStore,
    catalog: UpdatedCatalog,
    gateway_url: str | None,
) -> WireProvider:
    if row.id == "radius":
        return _radius(row, change, store, gateway_url)
    if row.login == "radius" and change is not None and not change.models:
        return _radius(row, change, store)
    changed = row
    if change is not None:
        changed = replace(
            row, name=change.name or row.name, base_url=change.base_url or row.base_url
        )
    if change is not None and row.id not in _BUILT_IN_IDS and change.base_url and not change.models:
        return ListedServer(changed, store, own=change)
    if row.lists_models:
        api = "openai-completions"
        return GatewayProvider(changed, store, own=change, api=api, read=openai_models)
    kinds = {"azure": AzureProvider, "github-copilot": CopilotProvider}
    return kinds.get(row.id, WireProvider)(changed, partial(_models, row, change, catalog))


def _radius(
    row: Provider, change: CustomProvider | None, store: ModelsStore, address: str | None = None
) -> GatewayProvider:
    base = (change.base_url if change else None) or address
    if base:
        row = replace(row, base_url=f"{base.rstrip('/').removesuffix('/v1')}/v1")
    return GatewayProvider(row, store, own=change)


def _models(
    row: Provider, change: CustomProvider | None, catalog: UpdatedCatalog
) -> tuple[Model, ...]:
    name = row.catalog or row.id
    bundled = catalog.models(name, bundled_models(name))
    if row.catalog:
        # The same models with another key: only provider and URL differ.
        bundled = tuple(replace(model, provider=row.id, base_url=row.base_url) for model in bundled)
    return bundled if change is None else customised(change, bundled)

"""Composition root of the provider layer: built-in, custom, discovered and embedded providers.

The only module of the layer that imports all others.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pi.ai.auth import anthropic_gateway
from pi.ai.auth.resolve import Authentication
from pi.ai.auth.storage import AuthStorage
from pi.ai.collection import ModelProvider, Models
from pi.ai.messages import Json
from pi.ai.models.custom import CustomModels, CustomProvider
from pi.ai.models.store import ModelsStore
from pi.ai.models.updated_catalog import FILE as CATALOG_FILE
from pi.ai.models.updated_catalog import UpdatedCatalog
from pi.ai.provider import Provider
from pi.ai.providers.chosen_servers import ChosenServers
from pi.ai.providers.configured import wire_providers
from pi.ai.providers.demo import demo_provider
from pi.ai.providers.discovered import local_providers
from pi.ai.providers.embedded import LocalProvider
from pi.ai.providers.rows import BUILT_IN
from pi.base.clock import Clock, SystemClock
from pi.base.files import agent_directory
from pi.base.records import Record

if TYPE_CHECKING:  # importing it would load the HTTP client before the first request
    from pi.ai.images.collection import ImagesModels
    from pi.ai.wire_support.exchange import Services

LOOPBACK = "127.0.0.1,localhost,::1"
GATEWAY_VARIABLE = "PI_RADIUS_GATEWAY"
"""The URL of a Radius gateway other than the public one."""


class Network(Record):
    """Network settings; where unset, environment variables apply."""

    proxy: str | None = None
    extra_ca: str = ""
    client_certificate: str = ""
    client_key: str = ""


def create_models(
    *,
    storage: AuthStorage | None = None,
    environ: Mapping[str, str] | None = None,
    clock: Clock | None = None,
    cwd: Path | None = None,
    folder: Path | None = None,
    custom: CustomModels | None = None,
    network: Network | None = None,
    clients: Mapping[str, Json] | None = None,
    chosen: ChosenServers | None = None,
    report: Callable[[str], None] = lambda text: None,
) -> Models:
    """Create the collection of all models. The caller closes it.

    ``folder`` keeps the updates of the catalog, the weights of the embedded model and the files of
    the guided tour; ``report`` is called with progress messages for the user. With ``chosen``,
    servers found on this machine are used only after the user has chosen them. Defaults are those
    of the process: its environment, its directory, and the credentials of the user's agent
    directory.
    """
    environ = os.environ if environ is None else environ
    clock, cwd = clock or SystemClock(), cwd or Path.cwd()
    folder = folder or agent_directory(environ)
    storage = storage or AuthStorage(agent_directory(environ) / "auth.json")
    own = _own(custom, environ)
    catalog = UpdatedCatalog(folder / CATALOG_FILE)
    return Models(
        _providers(
            own, environ=environ, folder=folder, catalog=catalog, chosen=chosen, report=report
        ),
        auth=Authentication(storage, environ=environ, cwd=cwd, custom=own, clients=clients),
        clock=clock,
        make_services=partial(make_services, environ, clock, network or Network()),
        catalog=catalog,
    )


def create_images_models(
    *,
    storage: AuthStorage | None = None,
    environ: Mapping[str, str] | None = None,
    clock: Clock | None = None,
    cwd: Path | None = None,
    network: Network | None = None,
) -> ImagesModels:
    """Create the collection of image models, with the credentials of chat. The caller closes it.

    Defaults are those of the process, as for ``create_models``.
    """
    # Lazy: few programs generate images.
    from pi.ai.images.catalog import IMAGE_MODELS
    from pi.ai.images.collection import ImagesModels

    environ = os.environ if environ is None else environ
    clock, cwd = clock or SystemClock(), cwd or Path.cwd()
    storage = storage or AuthStorage(agent_directory(environ) / "auth.json")
    return ImagesModels(
        IMAGE_MODELS,
        BUILT_IN,
        auth=Authentication(storage, environ=environ, cwd=cwd),
        clock=clock,
        make_services=partial(make_services, environ, clock, network or Network()),
    )


def chosen_servers(folder: Path) -> ChosenServers:
    """Return the servers of this machine that the user has chosen, as stored in ``folder``."""
    return ChosenServers(folder / "local-servers.json")


def weights_folder(folder: Path) -> Path:
    """Return the folder of the weights of the embedded model."""
    return folder / "weights"


def make_services(environ: Mapping[str, str], clock: Clock, network: Network) -> Services:
    """Create the services of the wires. Servers on this machine never use a proxy."""
    # Lazy: no HTTP client before the first request.
    from pi.ai.http.client import HttpClient
    from pi.ai.http.tls import TlsSettings
    from pi.ai.wire_support.exchange import Services

    excepted = environ.get("no_proxy") or environ.get("NO_PROXY") or ""
    gateway_environ = environ if anthropic_gateway.uses_foundry(environ) else {}
    http = HttpClient(
        environ={**environ, "no_proxy": f"{excepted},{LOOPBACK}"},
        proxy=network.proxy,
        tls=TlsSettings(
            extra_ca=network.extra_ca,
            client_certificate=network.client_certificate
            or gateway_environ.get("CLAUDE_CODE_CLIENT_CERT", ""),
            client_key=network.client_key or gateway_environ.get(anthropic_gateway.CLIENT_KEY, ""),
        ),
    )
    return Services(http=http, clock=clock, environ=environ)


def _own(custom: CustomModels | None, environ: Mapping[str, str]) -> tuple[CustomProvider, ...]:
    """Return the providers of models.json, and an Anthropic gateway set by variables."""
    providers = {provider.id: provider for provider in (custom.providers if custom else ())}
    gateway = anthropic_gateway.with_gateway_url(providers.get(anthropic_gateway.PROVIDER), environ)
    return tuple(({**providers, gateway.id: gateway} if gateway else providers).values())


def _providers(
    own: tuple[CustomProvider, ...],
    *,
    environ: Mapping[str, str],
    folder: Path,
    catalog: UpdatedCatalog,
    chosen: ChosenServers | None,
    report: Callable[[str], None],
) -> list[ModelProvider]:
    changes = {provider.id: provider for provider in own}
    rows = {row.id: row for row in BUILT_IN}
    anthropic = anthropic_gateway.with_gateway_key(rows[anthropic_gateway.PROVIDER], environ)
    rows[anthropic.id] = anthropic
    store = ModelsStore(folder / "models-store.json")
    servers = local_providers(environ, changes, chosen)
    known_ids = {*rows, *(server.row.id for server in servers)}
    custom = (_custom_row(provider) for provider in own if provider.id not in known_ids)
    providers: list[ModelProvider] = [
        *wire_providers(
            (*rows.values(), *custom),
            changes,
            store,
            catalog,
            gateway_url=environ.get(GATEWAY_VARIABLE),
        ),
        *servers,
    ]
    programs = (
        LocalProvider(weights_folder(folder), environ=environ, report=report),
        demo_provider(str(folder / "tour")),
    )
    named = {provider.id for provider in own if provider.models}  # custom providers come first
    providers += [program for program in programs if program.row.id not in named]
    return providers


def _custom_row(provider: CustomProvider) -> Provider:
    is_asked = bool(provider.base_url) and not provider.models
    return Provider(
        id=provider.id,
        name=provider.name or provider.id,
        base_url=provider.base_url or "",
        login="radius" if provider.oauth == "radius" else None,
        lists_models=is_asked,
        needs_key=not is_asked or bool(provider.api_key or provider.oauth),
    )

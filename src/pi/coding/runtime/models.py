"""Models as a session reaches them: its credentials, its settings, its cache identity."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from pi.ai.auth.config_values import escape, remember_used
from pi.ai.auth.credentials import ApiKeyCredential, Credential, decode
from pi.ai.auth.login_settings import with_host_overrides
from pi.ai.auth.storage import AuthStorage
from pi.ai.collection import Models
from pi.ai.factory import Network, chosen_servers, create_models
from pi.ai.messages import Context
from pi.ai.models.custom import CustomModels, read_custom_models
from pi.ai.models.model import Model
from pi.ai.providers.rows import BUILT_IN
from pi.ai.request import StreamOptions
from pi.ai.stream import EventStream
from pi.ai.transcript import conversation
from pi.base.errors import PiError
from pi.base.files import FileAccessError, read_if_exists
from pi.base.records import Record, replace
from pi.coding.extension_host.dormant import ExtensionContributions
from pi.coding.models.registry import ModelRegistry
from pi.coding.runtime.live import LiveSession
from pi.coding.runtime.machine import Machine
from pi.coding.settings.settings import Settings
from pi.coding.settings.values import Values

if TYPE_CHECKING:
    from pi.coding.extension_host.contributions.model_wraps import ModelRequest, Purpose


# The person's ``models.json``, read when a session begins and whenever they look for models.


class OwnModels:
    """What the file said last. ``make`` gives the models of everybody, the person's among them."""

    def __init__(self, host: Machine, make: Callable[[CustomModels], Models]) -> None:
        self._host = host
        self._make = make
        self._content = _content(host)
        self.custom = _read(host, self._content)

    def bring(self, models: Models) -> None:
        """Have ``models`` know what the file says now; one that cannot be read changes nothing."""
        try:
            content = _content(self._host)
        except PiError as problem:
            self._host.report(f"Warning: {problem.explain()}")
            return
        if content == self._content:
            return
        self._content = content
        custom = _read(self._host, content)
        if custom.problems and not custom.providers:
            return
        before = {provider.id: provider for provider in self.custom.providers}
        after = {provider.id: provider for provider in custom.providers}
        changed = [id for id in {**before, **after} if before.get(id) != after.get(id)]
        models.adopt(self._make(custom), changed)
        self.custom = custom


def own_models(host: Machine) -> CustomModels:
    """What the person's ``models.json`` adds; what is wrong with it is reported."""
    return _read(host, _content(host))


def _content(host: Machine) -> bytes | None:
    return read_if_exists(host.agent_dir / "models.json")


def _read(host: Machine, content: bytes | None) -> CustomModels:
    if content is None:
        return CustomModels()
    path = host.agent_dir / "models.json"
    names = [row.id for row in BUILT_IN]
    custom = read_custom_models(content.decode("utf-8", "replace"), str(path), names)
    for problem in custom.problems:
        host.report(f"Warning: errors loading models.json:\n{problem}")
    return custom


BLOCKED = "(image omitted: the setting images.blockImages keeps pictures here)"


class ProviderRetry(Record):
    """``retry.provider`` of the settings."""

    timeout_ms: int | None = None
    max_retries: Annotated[int, Meta(ge=0)] = 0
    """Within one request, before anybody hears of a failure."""
    max_retry_delay_ms: Annotated[int, Meta(ge=0)] = 60_000


class ModelClient:
    """Adds to every request what the session knows; asks nobody by itself."""

    def __init__(
        self,
        host: Machine,
        cwd: Path,
        *,
        settings: Callable[[], Settings],
        values: Values | None = None,
        registry: ModelRegistry | None = None,
        storage: AuthStorage | None = None,
        extensions: ExtensionContributions | None = None,
    ) -> None:
        self._host = host
        self._extensions = extensions or ExtensionContributions()
        self._settings = settings
        self._core: LiveSession | None = None
        self._api_key: tuple[str, str] | None = None
        self._owned = registry is None
        self.registry = registry or discover_models(host, cwd, values=values, storage=storage)

    def serve(self, core: LiveSession, *, api_key: str | None) -> None:
        """Ask for ``core`` from now on; the key is for the provider of its model alone."""
        self._core = core
        if api_key is not None:
            remember_used(api_key)
            self._api_key = (core.agent.model.provider, api_key)

    def stream(
        self, model: Model, context: Context, options: StreamOptions, *, purpose: Purpose = "turn"
    ) -> EventStream:
        """Ask ``model``, as the session's settings say and through what extensions put around."""
        wanted, context = self._wanted(model, options), self._shown(context)
        host = self._extensions.host
        if host is None:
            return self.registry.models.stream_simple(model, context, wanted)
        from pi.coding.extension_host.contributions.model_wraps import ModelRequest

        request = ModelRequest(
            model=model, messages=conversation(context), options=wanted, purpose=purpose
        )
        return host.lent.ask_model(request, self._ask)

    def _ask(self, request: ModelRequest) -> EventStream:
        context = Context(messages=request.messages)
        return self.registry.models.stream_simple(request.model, context, request.options)

    def _shown(self, context: Context) -> Context:
        """Without pictures, where the person lets none leave."""
        if not self._settings().values.images.block_images:
            return context
        from pi.ai.wire_support.handoff import without_images  # few people want that

        shown = (without_images(message, BLOCKED) for message in context.messages)
        return replace(context, messages=tuple(shown))

    def _wanted(self, model: Model, options: StreamOptions) -> StreamOptions:
        usual = self.options()
        return replace(
            options,
            thinking_budgets=options.thinking_budgets or usual.thinking_budgets,
            transport=usual.transport if options.transport == "auto" else options.transport,
            timeout_ms=usual.timeout_ms if options.timeout_ms is None else options.timeout_ms,
            websocket_connect_timeout_ms=usual.websocket_connect_timeout_ms,
            max_retries=options.max_retries or usual.max_retries,
            max_retry_delay_ms=usual.max_retry_delay_ms,
            cache_retention=usual.cache_retention,
            session_id=options.session_id or usual.session_id,
            api_key=options.api_key or self._key_for(model),
        )

    def options(self) -> StreamOptions:
        """What every request of the session has in common."""
        settings = self._settings()
        values = settings.values
        provider = settings.section(("retry", "provider"), ProviderRetry)
        long_cache = self._host.environ.get("PI_CACHE_RETENTION") == "long"
        budgets = values.thinking_budgets
        return StreamOptions(
            thinking_budgets={
                "minimal": budgets.minimal,
                "low": budgets.low,
                "medium": budgets.medium,
                "high": budgets.high,
            },
            transport="websocket"
            if values.transport.startswith("websocket")
            else ("sse" if values.transport == "sse" else "auto"),
            timeout_ms=(
                values.http_idle_timeout_ms if provider.timeout_ms is None else provider.timeout_ms
            ),
            websocket_connect_timeout_ms=values.websocket_connect_timeout_ms,
            max_retries=provider.max_retries,
            max_retry_delay_ms=provider.max_retry_delay_ms,
            cache_retention="long" if long_cache else "short",
            session_id=self._core.log.header.id if self._core else None,
        )

    async def close(self) -> None:
        """Close connections, if they are ours."""
        if self._owned:
            await self.registry.models.close()

    def _key_for(self, model: Model) -> str | None:
        if self._api_key is not None and self._api_key[0] == model.provider:
            return self._api_key[1]
        return None


def discover_models(
    host: Machine, cwd: Path, *, values: Values | None = None, storage: AuthStorage | None = None
) -> ModelRegistry:
    """Every model that the person's files and environment give access to.

    They are reached as ``values`` say; without any, as the person's own settings do.
    """
    values = values or Settings.of(host.agent_dir, cwd, clock=host.clock).values
    storage = storage or credential_store(host)

    def made(custom: CustomModels) -> Models:
        return create_models(
            storage=storage,
            environ=host.environ,
            clock=host.clock,
            cwd=cwd,
            folder=host.agent_dir,
            custom=custom,
            network=Network(proxy=values.http_proxy),
            clients=with_host_overrides(values.oauth_clients, host.environ),
            chosen=chosen_servers(host.agent_dir),
            report=host.report,
        )

    own = OwnModels(host, made)
    return ModelRegistry(made(own.custom), offline=host.offline, reload=own.bring)


def credential_store(host: Machine) -> AuthStorage:
    """Where the person's credentials are."""
    return AuthStorage(host.agent_dir / "auth.json")


# Credentials where older versions kept them: taken over into the store, once.


LOGINS = "oauth.json"
KEYS = "apiKeys"
"""A setting."""


async def migrate_credentials(host: Machine, settings: Settings, storage: AuthStorage) -> None:
    """Move old logins and keys into ``storage``; what it holds already is newer and stays.

    What cannot be moved is reported and left where it is.
    """
    logins, keys = host.agent_dir / LOGINS, settings.layer("user", (KEYS,))
    if keys is None and not logins.is_file():
        return
    try:
        found = _keys(keys) | _logins(logins)
        known = await storage.list()
        for provider, credential in found.items():
            if provider not in known:
                await storage.set(provider, credential)
        _put_away(logins, settings)
    except PiError as problem:
        host.report(f"Warning: older credentials were not taken over: {problem.message}")
    else:
        host.report(f"Credentials for {', '.join(sorted(found))} are now in {storage.where}.")


def _keys(raw: object) -> dict[str, Credential]:
    keys = raw if isinstance(raw, dict) else {}
    return {
        provider: ApiKeyCredential(key=escape(key))
        for provider, key in keys.items()
        if isinstance(key, str) and key
    }


def _logins(path: Path) -> dict[str, Credential]:
    try:
        raw = msgspec.json.decode(read_if_exists(path) or b"{}", type=dict[str, dict[str, object]])
        return {provider: decode({**login, "type": "oauth"}) for provider, login in raw.items()}
    except ValueError as problem:  # also of msgspec, and of text that is not UTF-8
        raise FileAccessError(f"{path} cannot be read: {problem}") from problem


def _put_away(logins: Path, settings: Settings) -> None:
    """Leave nothing that would be taken over again."""
    if logins.is_file():
        try:
            logins.replace(logins.with_name(f"{LOGINS}.migrated"))
        except OSError as problem:
            raise FileAccessError(f"Cannot rename {logins}: {problem.strerror}") from problem
    if settings.layer("user", (KEYS,)) is not None:
        settings.set({KEYS: None})

"""Model requests of a session: credentials, ``models.json``, migration of old credentials."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from pi.ai.auth.config_values import escape, remember_used
from pi.ai.auth.credentials import ApiKeyCredential, Credential, decode
from pi.ai.auth.login_settings import with_host_overrides
from pi.ai.auth.storage import AuthStorage
from pi.ai.collection import Models
from pi.ai.event_stream import EventStream
from pi.ai.factory import Network, chosen_servers, create_models
from pi.ai.messages import Context
from pi.ai.models.custom import CustomModels, read_custom_models
from pi.ai.models.model import Model
from pi.ai.plan_limits import plan_limits
from pi.ai.providers.rows import BUILT_IN
from pi.ai.request import OnResponse, StreamOptions, TokenIds, Transport
from pi.ai.transcript import conversation
from pi.base.errors import PiError
from pi.base.files import FileAccessError, read_if_exists
from pi.base.records import Record, replace
from pi.coding.extension_host.dormant import ExtensionContributions
from pi.coding.models.registry import ModelRegistry
from pi.coding.runtime.live import LiveSession
from pi.coding.runtime.machine import Machine
from pi.coding.session.token_ids import TokenIdFile
from pi.coding.settings.settings import Settings
from pi.coding.settings.values import Milliseconds, Values

if TYPE_CHECKING:
    from pi.coding.extension_host.contributions.model_wraps import ModelRequest, Purpose


class OwnModels:
    """The user's ``models.json``, as it was read last.

    ``make`` builds the collection of all models.
    """

    def __init__(self, machine: Machine, make: Callable[[CustomModels], Models]) -> None:
        self._machine = machine
        self._make = make
        self._content = _content(machine)
        self.custom = _read(machine, self._content)

    def reload_into(self, models: Models) -> None:
        """Read the file again and update ``models``; an invalid file changes nothing."""
        try:
            content = _content(self._machine)
        except PiError as error:
            self._machine.report(f"Warning: {error.explain()}")
            return
        if content == self._content:
            return
        self._content = content
        custom = _read(self._machine, content)
        if custom.problems and not custom.providers:
            return
        before = {provider.id: provider for provider in self.custom.providers}
        after = {provider.id: provider for provider in custom.providers}
        changed = [id for id in {**before, **after} if before.get(id) != after.get(id)]
        models.adopt(self._make(custom), changed)
        self.custom = custom


def own_models(machine: Machine) -> CustomModels:
    """Return the models of the user's ``models.json``; errors are reported."""
    return _read(machine, _content(machine))


def _content(machine: Machine) -> bytes | None:
    return read_if_exists(machine.agent_dir / "models.json")


def _read(machine: Machine, content: bytes | None) -> CustomModels:
    if content is None:
        return CustomModels()
    path = machine.agent_dir / "models.json"
    names = [row.id for row in BUILT_IN]
    custom = read_custom_models(content.decode("utf-8", "replace"), str(path), names)
    for message in custom.problems:
        machine.report(f"Warning: errors loading models.json:\n{message}")
    return custom


BLOCKED = "(image omitted: the setting images.blockImages blocks images)"


TRANSPORTS: dict[str, Transport] = {
    "auto": "auto",
    "sse": "sse",
    "websocket": "websocket",
    "websocket-cached": "websocket",
}
"""Transports by the value of the setting ``transport``."""


class ProviderRetry(Record):
    """``retry.provider`` of the settings."""

    timeout_ms: int | None = None
    max_retries: Annotated[int, Meta(ge=0)] = 0
    """Retries within one request, before a failure is reported."""
    max_retry_delay_ms: Annotated[int, Meta(ge=0)] = 60_000


def _limit(milliseconds: Milliseconds | None) -> int | None:
    """Return a time limit of the settings as a number; 0 is no limit."""
    return 0 if milliseconds == "disabled" else milliseconds


class ModelClient:
    """Adds session settings and credentials to each model request."""

    def __init__(
        self,
        machine: Machine,
        cwd: Path,
        *,
        settings: Settings,
        values: Values | None = None,
        registry: ModelRegistry | None = None,
        storage: AuthStorage | None = None,
        extensions: ExtensionContributions | None = None,
    ) -> None:
        self._machine = machine
        self._extensions = extensions or ExtensionContributions()
        self._settings = settings
        self._core: LiveSession | None = None
        self._api_key: tuple[str, str] | None = None
        self._token_ids: TokenIdFile | None = None
        self._owned = registry is None
        self.registry = registry or discover_models(machine, cwd, values=values, storage=storage)

    def bind(self, core: LiveSession, *, api_key: str | None) -> None:
        """Use the settings of ``core`` from now on.

        ``api_key`` is for the provider of its model only.
        """
        self._core = core
        if api_key is not None:
            remember_used(api_key)
            self._api_key = (core.agent.model.provider, api_key)

    def stream(
        self, model: Model, context: Context, options: StreamOptions, *, purpose: Purpose = "turn"
    ) -> EventStream:
        """Request an answer, with the session's options and the model wraps of extensions."""
        settings = self._settings if self._core is None else self._core.workspace.settings
        options = self._request_options(model, options, settings)
        context = _without_blocked_images(context, settings)
        host = self._extensions.host
        if host is None:
            return self.registry.models.stream_simple(model, context, options)
        from pi.coding.extension_host.contributions.model_wraps import ModelRequest

        request = ModelRequest(
            model=model, messages=conversation(context), options=options, purpose=purpose
        )
        return host.contributed.ask_model(request, self._ask)

    def _ask(self, request: ModelRequest) -> EventStream:
        context = Context(messages=request.messages)
        return self.registry.models.stream_simple(request.model, context, request.options)

    def _request_options(
        self, model: Model, options: StreamOptions, settings: Settings
    ) -> StreamOptions:
        """Return ``options`` with the values that all requests of the session share."""
        session, values = self._core, settings.values
        provider = settings.section(("retry", "provider"), ProviderRetry)
        timeout = (
            values.http_idle_timeout_ms if provider.timeout_ms is None else provider.timeout_ms
        )
        long_cache = self._machine.environ.get("PI_CACHE_RETENTION") == "long"
        return replace(
            options,
            thinking_budgets=options.thinking_budgets
            or msgspec.structs.asdict(values.thinking_budgets),
            transport=TRANSPORTS[values.transport]
            if options.transport == "auto"
            else options.transport,
            timeout_ms=_limit(timeout) if options.timeout_ms is None else options.timeout_ms,
            websocket_connect_timeout_ms=_limit(values.websocket_connect_timeout_ms),
            max_retries=options.max_retries or provider.max_retries,
            max_retry_delay_ms=provider.max_retry_delay_ms,
            cache_retention="long" if long_cache else "short",
            session_id=options.session_id or (session.log.header.id if session else None),
            api_key=options.api_key or self._key_for(model),
            on_response=self._noting_limits(options.on_response),
            on_token_ids=options.on_token_ids or self._store_token_ids,
        )

    def _store_token_ids(self, ids: TokenIds) -> None:
        """Store the token ids that a server returned; it does so only if a model asks for them."""
        file = None if self._core is None else self._core.log.file
        if file is None:
            return
        if self._token_ids is None or self._token_ids.session_file != file:
            self._token_ids = TokenIdFile(file)
        self._token_ids.append(ids)

    def _noting_limits(self, first: OnResponse | None) -> OnResponse:
        """Return a hook that stores the plan limits of a response, after calling ``first``."""
        if first is None:  # the same object for every request, so that options compare equal
            return self._note_limits

        async def run_both(status: int, headers: Mapping[str, str], model: Model) -> None:
            await first(status, headers, model)
            await self._note_limits(status, headers, model)

        return run_both

    async def _note_limits(self, status: int, headers: Mapping[str, str], model: Model) -> None:
        limits = plan_limits(headers, now=self._machine.clock.now_ms() / 1000)
        if limits and self._core is not None:
            self._core.plan_limits[model.provider] = limits

    async def close(self) -> None:
        """Close connections, if this object owns them."""
        if self._owned:
            await self.registry.models.close()

    def _key_for(self, model: Model) -> str | None:
        if self._api_key is not None and self._api_key[0] == model.provider:
            return self._api_key[1]
        return None


def _without_blocked_images(context: Context, settings: Settings) -> Context:
    """Return the context without images, if the settings block them."""
    if not settings.values.images.block_images:
        return context
    from pi.ai.wire_support.handoff import without_images  # lazy: few users block images

    messages = (without_images(message, BLOCKED) for message in context.messages)
    return replace(context, messages=tuple(messages))


def discover_models(
    machine: Machine, cwd: Path, *, values: Values | None = None, storage: AuthStorage | None = None
) -> ModelRegistry:
    """Return a registry of the models of the user's files and environment.

    Requests use the settings ``values``, by default the user's own settings.
    """
    values = values or Settings.of(machine.agent_dir, cwd, clock=machine.clock).values
    storage = storage or credential_store(machine)

    def build(custom: CustomModels) -> Models:
        return create_models(
            storage=storage,
            environ=machine.environ,
            clock=machine.clock,
            cwd=cwd,
            folder=machine.agent_dir,
            custom=custom,
            network=Network(proxy=values.http_proxy),
            clients=with_host_overrides(values.oauth_clients, machine.environ),
            chosen=chosen_servers(machine.agent_dir),
            report=machine.report,
        )

    own = OwnModels(machine, build)
    return ModelRegistry(build(own.custom), offline=machine.offline, reload=own.reload_into)


def credential_store(machine: Machine) -> AuthStorage:
    """Return the user's credential store."""
    return AuthStorage(machine.agent_dir / "auth.json")


LOGINS = "oauth.json"
KEYS = "apiKeys"
"""A setting of older versions."""


async def migrate_credentials(machine: Machine, settings: Settings, storage: AuthStorage) -> None:
    """Move logins and keys of older versions to ``storage``, once; existing entries win.

    A failure is reported, and the old credentials are left in place.
    """
    logins, keys = machine.agent_dir / LOGINS, settings.layer("user", (KEYS,))
    if keys is None and not logins.is_file():
        return
    try:
        credentials = _keys(keys) | _logins(logins)
        stored = await storage.list()
        for provider, credential in credentials.items():
            if provider not in stored:
                await storage.set(provider, credential)
        _remove_old_credentials(logins, settings)
    except PiError as error:
        machine.report(f"Warning: older credentials were not migrated: {error.message}")
    else:
        machine.report(
            f"Credentials for {', '.join(sorted(credentials))} are now in {storage.where}."
        )


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
    except ValueError as error:  # includes msgspec errors and invalid UTF-8
        raise FileAccessError(f"{path} cannot be read: {error}") from error


def _remove_old_credentials(logins: Path, settings: Settings) -> None:
    """Remove the old credentials, so that they are not migrated again."""
    if logins.is_file():
        try:
            logins.replace(logins.with_name(f"{LOGINS}.migrated"))
        except OSError as error:
            raise FileAccessError(f"Cannot rename {logins}: {error.strerror}") from error
    if settings.layer("user", (KEYS,)) is not None:
        settings.set({KEYS: None})

"""Selection of model and thinking level; logins to providers.

The next request uses new credentials.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal, get_args

from pi.agent.events import EntryAppended
from pi.ai.auth.credentials import OAuthCredential
from pi.ai.auth.login_settings import with_host_overrides
from pi.ai.auth.storage import AuthStorage
from pi.ai.event_stream import EventStream
from pi.ai.factory import Network, make_services
from pi.ai.messages import AssistantMessage, Context
from pi.ai.models.model import Model
from pi.ai.models.thinking_levels import ThinkingLevel, clamp_level, supported_levels
from pi.ai.provider import Provider
from pi.ai.request import StreamOptions
from pi.base.errors import PiError
from pi.coding.extension_host.events.session import (
    ModelSelectEvent,
    ThinkingLevelChanged,
    ThinkingLevelSelectEvent,
)
from pi.coding.models.registry import ResolvedModel
from pi.coding.port.results import Account, CycledModel, ModelNotes
from pi.coding.runtime.live import LiveSession
from pi.coding.runtime.models import ModelClient
from pi.coding.runtime.options import LastResort
from pi.coding.runtime.secrets import KnownSecrets
from pi.coding.runtime.session.runs import StartTask
from pi.coding.session.context import chosen_model
from pi.coding.session.entries import ModelChange, ThinkingLevelChange
from pi.coding.session.log import SessionLog

if TYPE_CHECKING:
    from pi.ai.auth.login import LoginUI
    from pi.coding.port.queries import ChooseNext

LEVELS = get_args(ThinkingLevel)


class ModelSelection:
    """Selects model and thinking level. Changes are written to the log, not to the settings."""

    def __init__(
        self,
        core: LiveSession,
        client: ModelClient,
        scope: tuple[ResolvedModel, ...] = (),
        last_resort: LastResort | None = None,
        *,
        start: StartTask,
    ) -> None:
        self._start = start
        """Starts background work of the session."""
        self._core = core
        self._client = client
        self._last_resort = last_resort
        self.registry = core.registry
        self.scope = scope
        """The models to cycle through; empty means all."""
        self._choosers: list[ChooseNext] = []
        """Functions of extensions that replace cycling; the last one is used."""
        self._notes: list[Callable[[], ModelNotes]] = []

    @property
    def current(self) -> Model | None:
        """The selected model; ``None`` if there is none."""
        return self._core.agent.model if self._core.has_model else None

    @property
    def thinking_level(self) -> ThinkingLevel:
        """The thinking level."""
        return self._core.agent.thinking_level

    def levels(self) -> tuple[ThinkingLevel, ...]:
        """Return the thinking levels that the model supports."""
        return supported_levels(self._core.agent.model) if self._core.has_model else ("off",)

    def set_scope(self, patterns: Sequence[str]) -> None:
        """Cycle through the models that match the patterns, in their order; none means all."""
        self.scope = self.registry.scope(patterns)

    async def discover(self) -> None:
        """Read ``models.json`` again, and query providers with dynamic model lists."""
        self.registry.reload()
        await self.registry.discover_local()

    async def select_fallback_model(self) -> None:
        """Select a fallback if no model is configured: approved server, gateway or last resort.

        Runs with the first prompt, so that it does not delay the start. Servers found on this
        machine that were never approved are skipped.
        """
        await self.discover()
        registry = self.registry
        usable = filter(registry.is_usable, registry.discoverable())
        model = next(filter(None, map(registry.default_of, usable)), None)
        if model is None:
            self._report_other_owners()
        # Not for a user with an API key, who would not expect a download.
        is_keyless = self._never_chosen and not registry.unlisted
        if model is None and self._last_resort is not None and is_keyless:
            model = await self._last_resort()
        if model is not None:
            await self.use(model, source="set")

    def _report_other_owners(self) -> None:
        """Report servers whose owner has changed, except those that the start has reported."""
        last = chosen_model(self._core.log)
        named = {self._core.workspace.settings.values.default_provider, last and last.provider}
        for status in self.registry.not_chosen():
            if status.state == "other owner" and status.provider not in named:
                self._core.machine.report(status.refusal)

    @property
    def _never_chosen(self) -> bool:
        """Whether the user has selected no model, so that a fallback is allowed.

        A configured provider counts as a selection, even if the variable of its key is not set.
        """
        values = self._core.workspace.settings.values
        chosen = chosen_model(self._core.log) or values.default_provider or values.default_model
        return not chosen and not self.registry.key_problems()

    async def select_id(self, provider: str, model_id: str, *, anew: bool = False) -> Model:
        """Select a model from the next request on. Raises ``PiError`` if it does not exist.

        Approves the server of a model on this machine. If its owner has changed, raises
        ``ServerNotChosen`` unless ``anew``.
        """
        registry = self.registry
        if registry.is_undiscovered(provider):
            await self.discover()
        model = registry.find(provider, model_id)
        if model is None:
            raise PiError(f"Model not found: {provider}/{model_id}")
        await registry.choose_server(model, anew=anew)
        await self.use(model, source="set")
        return model

    async def select(self, model: Model | str, *, anew: bool = False) -> Model:
        """Select a model, or the one that matches a pattern ``provider/id:thinking``.

        Approves its server like ``select_id``. Raises ``PiError`` if no model matches.
        """
        if isinstance(model, Model):
            choice: ResolvedModel | None = ResolvedModel(model=model)
        else:
            choice = self._resolve(model)
        if choice is None:
            raise PiError(
                f"Model not found: {model}",
                hint=f"/model and {self._core.names.list_models} list the available models.",
            )
        await self.registry.choose_server(choice.model, anew=anew)
        await self.use(choice.model, thinking=choice.thinking, source="set")
        return choice.model

    def _resolve(self, pattern: str) -> ResolvedModel | None:
        """Resolve a pattern, reading ``models.json`` again if necessary."""
        choice = self.registry.resolve(pattern)
        if choice is None:
            self.registry.reload()
            choice = self.registry.resolve(pattern)
        return choice

    async def use(
        self,
        model: Model,
        *,
        thinking: ThinkingLevel | None = None,
        source: Literal["set", "cycle", "restore"],
    ) -> None:
        """Use ``model``, with the supported level that is nearest to ``thinking``.

        The default of ``thinking`` is the current level, so it stays ``off`` after a model without
        thinking; if there was no model, it is the level of the settings.
        """
        core, previous = self._core, self.current
        core.require_local("change the model")
        core.agent.model, core.has_model = model, True
        chosen = chosen_model(core.log)
        if chosen is None or (chosen.provider, chosen.model_id) != (model.provider, model.id):
            await core.add(ModelChange(provider=model.provider, model_id=model.id))
        await core.bus.emit(ModelSelectEvent(model=model, previous_model=previous, source=source))
        if previous is None:
            thinking = thinking or core.workspace.settings.values.default_thinking_level
        await self.set_thinking_level(thinking or self.thinking_level)

    def ask(
        self, model: Model, context: Context, options: StreamOptions, *, extension: str
    ) -> EventStream:
        """Send a request of an extension, outside of the conversation; its usage is recorded."""
        answer = self._client.stream(model, context, options, purpose="extension")
        answer.on_end = partial(self._record_usage, self._core.log, extension)
        return answer

    def _record_usage(self, log: SessionLog, extension: str, answer: AssistantMessage) -> None:
        """Store the cost of an extension's request, so that the totals include it."""
        core = self._core
        if not answer.usage.total_tokens and not answer.usage.cost.total:
            return
        from pi.coding.session.statistics import ModelCall, model_call_entry

        if core.log is log:  # otherwise the session was replaced, and its file is closed
            call = ModelCall(
                extension=extension,
                provider=answer.provider,
                model=answer.model,
                usage=answer.usage,
            )
            public = core.conversation.add(model_call_entry(call))
            if public is not None:
                self._start(core.agent.emit(EntryAppended(entry=public)), name="model usage")

    async def cycle(self, step: int = 1) -> CycledModel | None:
        """Select the next model of the scope, or of all; ``None`` if there is no other."""
        core = self._core
        if self._choosers:
            return await self._cycle_with(self._choosers[-1], step)
        choices = self.scope or tuple(
            ResolvedModel(model=model) for model in self.registry.get_available()
        )
        names = [(choice.model.provider, choice.model.id) for choice in choices]
        if len(choices) < 2:
            return None
        now = (core.agent.model.provider, core.agent.model.id)
        index = (names.index(now) + step if now in names else 0) % len(choices)
        await self.use(choices[index].model, thinking=choices[index].thinking, source="cycle")
        return CycledModel(
            model=core.agent.model,
            thinking_level=self.thinking_level,
            is_scoped=bool(self.scope),
        )

    async def _cycle_with(self, choose: ChooseNext, step: int) -> CycledModel | None:
        chosen = choose(step)
        if chosen is None:
            return None
        await self.use(chosen.model, thinking=chosen.thinking, source="cycle")
        return CycledModel(
            model=self._core.agent.model, thinking_level=self.thinking_level, is_scoped=True
        )

    def set_cycle(self, choose: ChooseNext) -> Callable[[], None]:
        """Select the next model with ``choose(step)``. Returns a function that removes it."""
        self._choosers.append(choose)
        return lambda: self._choosers.remove(choose) if choose in self._choosers else None

    def add_notes(self, notes: Callable[[], ModelNotes]) -> Callable[[], None]:
        """Add notes about models. Returns a function that removes them."""
        self._notes.append(notes)
        return lambda: self._notes.remove(notes) if notes in self._notes else None

    @property
    def notes(self) -> ModelNotes:
        """All notes about models."""
        all_notes = [notes() for notes in self._notes]
        badges: dict[str, tuple[str, ...]] = {}
        for notes in all_notes:
            for name, texts in notes.badges.items():
                badges[name] = (*badges.get(name, ()), *texts)
        used = dict.fromkeys(name for notes in all_notes for name in notes.used)
        return ModelNotes(badges=badges, used=tuple(used))

    async def set_thinking_level(self, level: str) -> None:
        """Set the thinking level, or the nearest supported one; unknown levels mean ``off``."""
        core, previous = self._core, self.thinking_level
        core.require_local("change the thinking level")
        requested: ThinkingLevel = level if level in LEVELS else "off"  # type: ignore[assignment]
        allowed = clamp_level(core.agent.model, requested)
        if allowed == previous:
            return
        core.agent.thinking_level = allowed
        await core.add(ThinkingLevelChange(thinking_level=allowed))
        await core.agent.emit(ThinkingLevelChanged(level=allowed))
        await core.bus.emit(ThinkingLevelSelectEvent(level=allowed, previous_level=previous))

    async def cycle_thinking(self) -> ThinkingLevel | None:
        """Select the next supported thinking level; ``None`` if there is only one."""
        levels = self.levels()
        if len(levels) < 2:
            return None
        index = levels.index(self.thinking_level) if self.thinking_level in levels else -1
        await self.set_thinking_level(levels[(index + 1) % len(levels)])
        return self.thinking_level


class Accounts:
    """The user's credential store, for one session."""

    def __init__(self, core: LiveSession, storage: AuthStorage, secrets: KnownSecrets) -> None:
        self._core = core
        self.storage = storage
        self.secrets = secrets.values
        """Returns the secret values, for redaction."""

    async def all(self) -> tuple[Account, ...]:
        """Return every provider with the state of its credentials, in the registry's order."""
        stored = await self.storage.list()
        registry = self._core.registry
        return tuple(
            Account(
                provider=row,
                usable=registry.has_auth(row.id),
                logged_in=isinstance(stored.get(row.id), OAuthCredential),
                has_key=row.id in stored and not isinstance(stored[row.id], OAuthCredential),
                source=registry.models.credential_source(row.id),
            )
            for row in registry.models.get_providers()
        )

    async def log_in(self, provider: str, ui: LoginUI) -> None:
        """Log in to a provider and store the credentials."""
        from pi.ai.auth.sign_in import sign_in  # lazy: logins are rare

        row, environ = self._row(provider), self._core.workspace.environment.values
        values = self._core.workspace.settings.values
        network = Network(proxy=values.http_proxy)
        services = make_services(environ, self._core.machine.clock, network)
        try:
            await sign_in(
                row,
                ui,
                storage=self.storage,
                environ=environ,
                http=services.http,
                clock=self._core.machine.clock,
                clients=with_host_overrides(values.oauth_clients, environ),
                device_id=self._core.workspace.settings.device_id,
            )
        finally:
            await services.close()

    async def store_key(self, provider: str, ui: LoginUI) -> None:
        """Ask for an API key and store it, unless the provider refuses it."""
        from pi.ai.auth.key_check import refusal
        from pi.ai.auth.sign_in import sign_in_with_key

        row, core = self._row(provider), self._core
        if core.machine.offline:
            await sign_in_with_key(row, ui, storage=self.storage)
            return
        environ = core.workspace.environment.values
        network = Network(proxy=core.workspace.settings.values.http_proxy)
        services = make_services(environ, core.machine.clock, network)
        models = core.registry.models.get_models(row.id)
        try:
            await sign_in_with_key(
                row,
                ui,
                storage=self.storage,
                check=lambda key: refusal(row, models, key, services.http),
            )
        finally:
            await services.close()

    def _row(self, provider: str) -> Provider:
        rows = {row.id: row for row in self._core.registry.models.get_providers()}
        if provider not in rows:
            from pi.base.fuzzy import did_you_mean  # lazy: for a mistyped name only

            hint = did_you_mean(provider, rows)
            raise PiError(f'Unknown provider "{provider}".', hint=hint)
        return rows[provider]

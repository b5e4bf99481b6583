"""Who answers, and how much it thinks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from pi.ai.models.model import Model, ThinkingLevel, clamp_level, supported_levels
from pi.ai.providers.chosen_servers import Standing
from pi.base.errors import PiError
from pi.coding.extension_host.events.session import (
    ModelSelected,
    ThinkingLevelChanged,
    ThinkingLevelSelected,
)
from pi.coding.models.registry import ResolvedModel
from pi.coding.port.results import CycledModel
from pi.coding.runtime.live import LiveSession
from pi.coding.runtime.options import LastResort
from pi.coding.session.context import chosen_model
from pi.coding.session.entries import ModelChange, ThinkingLevelChange

LEVELS = get_args(ThinkingLevel)


class ModelSelection:
    """Changes belong to the session and are in its log; settings stay as they are."""

    def __init__(self, core: LiveSession, last_resort: LastResort | None = None) -> None:
        self._core = core
        self._last_resort = last_resort

    @property
    def current(self) -> Model | None:
        """The model that answers; ``None`` when there is nobody to ask."""
        return self._core.agent.model if self._core.has_model else None

    @property
    def thinking_level(self) -> ThinkingLevel:
        """How much it thinks."""
        return self._core.agent.thinking_level

    def available(self) -> tuple[Model, ...]:
        """Every model that could answer."""
        return self._core.registry.get_available()

    def offered(self) -> tuple[Model, ...]:
        """Every model that the user can choose, also of servers that were found on this machine."""
        return self._core.registry.get_offered()

    def found(self) -> tuple[Standing, ...]:
        """The servers that were found on this machine and may not answer, with their owners."""
        return self._core.registry.not_chosen()

    def levels(self) -> tuple[ThinkingLevel, ...]:
        """How much the model can be told to think."""
        return supported_levels(self._core.agent.model) if self._core.has_model else ("off",)

    def known(self) -> tuple[Model, ...]:
        """Every model there is, also those whose provider has no credentials yet."""
        return self._core.registry.get_all()

    @property
    def scope(self) -> tuple[ResolvedModel, ...]:
        """The models to cycle through; empty means all."""
        return self._core.scope

    def limit_to(self, patterns: Sequence[str]) -> None:
        """Cycle through the models that these mean, in their order; none means all."""
        self._core.scope = self._core.registry.scope(patterns)

    async def discover(self) -> None:
        """Read ``models.json`` again, and ask the model servers of this machine what they serve."""
        self._core.registry.reload()
        await self._core.registry.discover_local()

    async def find_somebody(self) -> None:
        """Where nobody answers: a model of a chosen server or a gateway, or the last resort.

        It is looked for when something is said, so that no start waits for it. Servers that were
        found on this machine and never chosen are passed over.
        """
        await self.discover()
        registry = self._core.registry
        usable = filter(registry.is_usable, registry.discoverable())
        model = next(filter(None, map(registry.default_of, usable)), None)
        if model is None:
            self._report_other_owners()
        # A user with a key wants that provider, not a download.
        is_keyless = self._never_chosen and not registry.unlisted
        if model is None and self._last_resort is not None and is_keyless:
            model = await self._last_resort()
        if model is not None:
            await self.use(model, source="set")

    def _report_other_owners(self) -> None:
        """Name the servers whose owner has changed; the start did so for those it looked at."""
        last = chosen_model(self._core.log)
        named = {self._core.workspace.values.default_provider, last and last.provider}
        for standing in self._core.registry.not_chosen():
            if standing.state == "other owner" and standing.provider not in named:
                self._core.host.report(standing.refusal)

    @property
    def _never_chosen(self) -> bool:
        """Whether nobody waits for a certain model, for which no other should stand in unasked.

        Somebody does who has configured a provider, although the variable of its key is not set.
        """
        values = self._core.workspace.values
        chosen = chosen_model(self._core.log) or values.default_provider or values.default_model
        return not chosen and not self._core.registry.key_problems()

    async def choose(self, provider: str, model_id: str, *, anew: bool = False) -> Model:
        """Have that model answer from the next request on; ``PiError`` if there is none.

        A server on this machine is thereby chosen; where its owner has changed since it was chosen
        before, only ``anew``.
        """
        registry = self._core.registry
        if registry.is_undiscovered(provider):
            await self.discover()
        model = registry.find(provider, model_id)
        if model is None:
            raise PiError(f"Model not found: {provider}/{model_id}")
        await registry.choose_server(model, anew=anew)
        await self.use(model, source="set")
        return model

    async def pick(self, wanted: Model | str, *, anew: bool = False) -> Model:
        """Have a model answer that is given as such or as a pattern, ``provider/id:thinking``.

        Its server is chosen as by ``choose``.
        """
        if isinstance(wanted, Model):
            choice: ResolvedModel | None = ResolvedModel(model=wanted)
        else:
            choice = self._resolved(wanted)
        if choice is None:
            raise PiError(
                f"Model not found: {wanted}",
                hint="/model and `pi --list-models` list those there are.",
            )
        await self._core.registry.choose_server(choice.model, anew=anew)
        await self.use(choice.model, thinking=choice.thinking, source="set")
        return choice.model

    def _resolved(self, pattern: str) -> ResolvedModel | None:
        """What a pattern means, also if ``models.json`` has come to say it a moment ago."""
        choice = self._core.registry.resolve(pattern)
        if choice is None:
            self._core.registry.reload()
            choice = self._core.registry.resolve(pattern)
        return choice

    async def use(
        self,
        model: Model,
        *,
        thinking: ThinkingLevel | None = None,
        source: Literal["set", "cycle", "restore"],
    ) -> None:
        """Have ``model`` answer; the level stays as near to what it was as the model allows.

        Behind a model that cannot think, and where nobody answered, it is that of the settings.
        """
        core, previous = self._core, self.current
        core.must_run_here("its model stays as it is")
        core.agent.model, core.has_model = model, True
        known = chosen_model(core.log)
        if known is None or (known.provider, known.model_id) != (model.provider, model.id):
            await core.add(ModelChange(provider=model.provider, model_id=model.id))
        await core.bus.emit(ModelSelected(model=model, previous=previous, source=source))
        if previous is None or not previous.reasoning:
            thinking = thinking or core.workspace.values.default_thinking_level
        await self.think(thinking or self.thinking_level)

    async def cycle(self, step: int = 1) -> CycledModel | None:
        """The next model of the scope, or of all; ``None`` when there is no other."""
        core = self._core
        choices = core.scope or tuple(ResolvedModel(model=model) for model in self.available())
        names = [(choice.model.provider, choice.model.id) for choice in choices]
        if len(choices) < 2:
            return None
        now = (core.agent.model.provider, core.agent.model.id)
        at = (names.index(now) + step if now in names else 0) % len(choices)
        await self.use(choices[at].model, thinking=choices[at].thinking, source="cycle")
        return CycledModel(
            model=core.agent.model,
            thinking_level=self.thinking_level,
            is_scoped=bool(core.scope),
        )

    async def think(self, level: str) -> None:
        """Have the model think that much, or as much as it can; nonsense means not at all."""
        core, previous = self._core, self.thinking_level
        core.must_run_here("it thinks as it does")
        wanted: ThinkingLevel = level if level in LEVELS else "off"  # type: ignore[assignment]
        allowed = clamp_level(core.agent.model, wanted)
        if allowed == previous:
            return
        core.agent.thinking_level = allowed
        await core.add(ThinkingLevelChange(thinking_level=allowed))
        await core.tell(ThinkingLevelChanged(level=allowed))
        await core.bus.emit(ThinkingLevelSelected(level=allowed, previous=previous))

    async def cycle_thinking(self) -> ThinkingLevel | None:
        """The next level that the model knows; ``None`` when it knows only one."""
        levels = self.levels()
        if len(levels) < 2:
            return None
        at = levels.index(self.thinking_level) if self.thinking_level in levels else -1
        await self.think(levels[(at + 1) % len(levels)])
        return self.thinking_level

"""Chooses the model that a session starts with."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import field

from pi.ai.former_names import current_name
from pi.ai.models.model import Model
from pi.ai.models.thinking_levels import ThinkingLevel, clamp_level
from pi.ai.providers.chosen_servers import ServerNotChosen
from pi.base.errors import PiError
from pi.base.records import Record
from pi.coding.models.registry import ModelRegistry, ResolvedModel, full_name, is_role
from pi.coding.settings.option_names import OptionNames

NOT_AUTOMATIC = frozenset({"demo", "local", "faux"})
"""Providers without API key that are never selected automatically."""


class UnknownModel(PiError):
    """No such model or provider."""


class ModelPreferences(Record):
    """The model preferences by source."""

    model: Model | None = None
    """Given by a program that embeds pi."""
    pattern: str | None = None
    """``--model``."""
    provider: str | None = None
    """``--provider``."""
    thinking: ThinkingLevel | None = None
    """``--thinking``."""
    scope: tuple[str, ...] = ()
    """``--models``, else ``enabledModels``."""
    session: tuple[str, str] | None = None
    """Provider and id that a resumed session last used."""
    session_thinking: ThinkingLevel | None = None
    default: tuple[str | None, str | None] = (None, None)
    """``defaultProvider`` and ``defaultModel``."""
    default_role: tuple[str, ...] = ()
    """Patterns of ``modelRoles.default``, best first; they precede ``defaultModel``."""
    default_thinking: ThinkingLevel = "medium"
    model_thinking: dict[str, ThinkingLevel] = field(default_factory=dict)
    """``modelThinkingLevels``."""
    names: OptionNames = OptionNames()

    @property
    def providers(self) -> frozenset[str]:
        """The providers to wait for when no model is named directly."""
        if self.model is not None or self.pattern is not None:
            return frozenset()
        return self.named | ({self.session[0]} if self.session else frozenset())

    @property
    def named(self) -> frozenset[str]:
        """The providers that the user names on the command line or in the settings.

        The provider of a resumed session does not count: its file can come from anyone.
        """
        if self.model is not None:
            return frozenset({self.model.provider})
        patterns = (self.pattern,) if self.pattern is not None else self.scope
        if self.pattern is None:
            patterns = (*patterns, *self.default_role)
        prefixes = (pattern.partition("/")[0] for pattern in patterns)
        default = self.default[0] if self.pattern is None else None
        return frozenset(name for name in (self.provider, default, *prefixes) if name)


class StartingModel(Record):
    """The model, thinking level and note for a session."""

    model: Model | None
    thinking: ThinkingLevel
    scope: tuple[ResolvedModel, ...] = ()
    note: str = ""
    """A note for the user, e.g. that the session's model no longer exists."""


async def find_starting_model(
    preferences: ModelPreferences, registry: ModelRegistry
) -> StartingModel:
    """Like ``starting_model``; queries providers with dynamic model lists for unknown names."""
    if any(map(registry.is_undiscovered, preferences.providers | preferences.named)):
        await registry.discover_local()
        await _choose_named(preferences, registry)
    try:
        return starting_model(preferences, registry, is_discovered=False)
    except UnknownModel:
        await registry.discover_local()
        await _choose_named(preferences, registry)
        return starting_model(preferences, registry)


async def _choose_named(preferences: ModelPreferences, registry: ModelRegistry) -> None:
    """Choose the local servers that the user names, if they were never chosen before."""
    for status in registry.not_chosen():
        if status.provider in preferences.named and status.state == "new":
            choice = registry.resolve(
                preferences.pattern or preferences.default[1] or "", status.provider
            )
            model = choice.model if choice else registry.default_of(status.provider)
            assert model is not None, "it was found by its models"
            await registry.choose_server(model)


def starting_model(
    preferences: ModelPreferences, registry: ModelRegistry, *, is_discovered: bool = True
) -> StartingModel:
    """Return the first of: command line, session, scope, settings, any provider with credentials.

    Raises ``UnknownModel`` for an unknown name on the command line, unless it is an id of a known
    provider, and ``ServerNotChosen`` if its local server has another owner than when it was chosen.
    ``is_discovered`` is whether providers with dynamic model lists were queried.
    """
    scope = registry.scope(preferences.scope)
    chosen = _explicit_choice(preferences, registry, is_discovered=is_discovered)
    note = ""
    if chosen is None and preferences.session is not None:
        chosen, note = _restore(preferences.session, registry)
        if chosen is not None and preferences.session_thinking is not None:
            chosen = ResolvedModel(model=chosen.model, thinking=preferences.session_thinking)
    if chosen is None and scope:
        chosen = scope[0]
    if chosen is None:
        chosen = next(_by_default(preferences, registry), None)
        if (refused := _describe_refusal(preferences.default[0], registry)) and refused not in note:
            note = f"{note} {refused}".lstrip()
    if preferences.scope and not scope:
        unfit = f"No available model matches {', '.join(preferences.scope)}."
        note = f"{note} {unfit}".lstrip()
    if chosen is None:
        thinking = preferences.thinking or preferences.default_thinking
        if note:
            note += " Choose another one with /model or --model."
        return StartingModel(model=None, thinking=thinking, scope=scope, note=note)
    note = _note_about(chosen.model, note, registry)
    level = preferences.thinking or chosen.thinking or _default_level(preferences, chosen.model)
    thinking = clamp_level(chosen.model, level)
    return StartingModel(model=chosen.model, thinking=thinking, scope=scope, note=note)


def _default_level(preferences: ModelPreferences, model: Model) -> ThinkingLevel:
    return preferences.model_thinking.get(full_name(model), preferences.default_thinking)


def _note_about(model: Model, note: str, registry: ModelRegistry) -> str:
    """Return ``note`` with the model that is used, and whether its provider lists it."""
    if note:
        note = f"{note} Using {full_name(model)}."
    if not registry.is_custom(model):
        return note
    listed = [other.id for other in registry.models.get_models(model.provider)]
    unknown = f'Warning: Model "{model.id}" not found for provider "{model.provider}".'
    warning = f"{unknown} Using custom model id. {_suggest(model.id, listed)}".rstrip()
    return f"{warning} {note}".rstrip()


def _explicit_choice(
    preferences: ModelPreferences, registry: ModelRegistry, *, is_discovered: bool
) -> ResolvedModel | None:
    if preferences.model is not None:
        return ResolvedModel(model=preferences.model)
    provider_names = [row.id for row in registry.models.get_providers()]
    if preferences.provider and current_name(preferences.provider) not in provider_names:
        raise UnknownModel(
            f'Unknown provider "{preferences.provider}".'
            f" Use {preferences.names.list_models} to see available providers/models.",
            hint=_suggest(preferences.provider, provider_names),
        )
    if preferences.pattern is not None:
        choice = registry.resolve(preferences.pattern, preferences.provider)
        owner = preferences.provider or preferences.pattern.partition("/")[0]
        if choice is None and (is_discovered or owner not in registry.discoverable()):
            choice = registry.resolve_custom(preferences.pattern, preferences.provider)
        if choice is None:
            names = [full_name(model) for model in registry.get_all()]
            raise UnknownModel(
                f'Model "{preferences.pattern}" not found.'
                f" Use {preferences.names.list_models} to see available models.",
                hint=_role_hint(preferences.pattern)
                or _login_hint(preferences, registry)
                or _found_here(preferences.pattern, registry)
                or _suggest(preferences.pattern, _list_spellings(names)),
            )
        if preferences.provider is None:
            _require_one(preferences.pattern, choice.model, registry)
        return _permit(choice, registry)
    if preferences.provider is not None and (model := registry.default_of(preferences.provider)):
        return _permit(ResolvedModel(model=model), registry)
    return None


def _require_one(pattern: str, model: Model, registry: ModelRegistry) -> None:
    """Raise ``UnknownModel`` if several providers have the model that a pattern has matched."""
    if candidates := registry.ambiguous(pattern, model):
        names = ", ".join(full_name(candidate) for candidate in candidates)
        number = "several" if registry.has_auth(candidates[0].provider) else "none"
        raise UnknownModel(
            f'Model "{pattern}" is ambiguous: {names}. There are credentials for {number} of them.',
            hint="Name the provider: provider/model, or --provider.",
        )


def _permit(choice: ResolvedModel, registry: ModelRegistry) -> ResolvedModel:
    """Return ``choice``; raises ``ServerNotChosen`` if the owner of its server has changed."""
    status = registry.server_status(choice.model.provider)
    if status is not None and status.state == "other owner":
        raise ServerNotChosen(status.refusal)
    return choice


def _describe_refusal(provider: str | None, registry: ModelRegistry) -> str:
    """Return why the server of a provider is not allowed; empty if it is."""
    status = registry.server_status(provider) if provider else None
    if status is None or status.state == "chosen" or not registry.models.get_models(provider):
        return ""
    return status.refusal


def _restore(name: tuple[str, str], registry: ModelRegistry) -> tuple[ResolvedModel | None, str]:
    """Return the model of a resumed session, or why it cannot be used."""
    model = registry.find(*name) or registry.custom(*name)
    if model is not None and (refused := _describe_refusal(model.provider, registry)):
        return None, refused
    if model is None:
        unknown = "no provider, models.json or loaded extension has it"
        return None, f"The session's model {'/'.join(name)} is not available here: {unknown}."
    if not registry.has_auth(model.provider):
        return None, f"There are no credentials for the session's model {'/'.join(name)}."
    return ResolvedModel(model=model), ""


def _by_default(preferences: ModelPreferences, registry: ModelRegistry) -> Iterator[ResolvedModel]:
    """Yield the saved default if it is usable, then the first provider with credentials."""
    for pattern in preferences.default_role:
        choice = registry.resolve(pattern)
        if choice is not None and registry.is_usable(choice.model.provider):
            yield choice
    provider, model_id = preferences.default
    if provider and registry.is_usable(provider):
        saved = registry.find(provider, model_id) if model_id else None
        saved = saved or registry.default_of(provider)
        if saved is not None:
            yield ResolvedModel(model=saved)
    elif (
        model_id
        and (named := registry.resolve(model_id))
        and registry.is_usable(named.model.provider)
    ):
        yield named
    for row in registry.models.get_providers():
        if row.id not in NOT_AUTOMATIC and registry.is_usable(row.id):
            model = registry.default_of(row.id)
            if model is not None:
                yield ResolvedModel(model=model)


def _role_hint(pattern: str) -> str:
    if not is_role(pattern):
        return ""
    role = pattern[1:].partition(":")[0]
    return f"{pattern} is a model role without a model: set it with /roles or modelRoles.{role}."


def _login_hint(preferences: ModelPreferences, registry: ModelRegistry) -> str:
    """Return the hint for a gateway that lists its models only with credentials."""
    owner = preferences.provider or (preferences.pattern or "").partition("/")[0]
    if (error := registry.unlisted.get(owner)) is not None:
        return f"{error.message} {error.hint}"
    rows = [row for row in registry.models.get_providers() if row.id == owner and row.lists_models]
    if not rows or registry.has_auth(owner):
        return ""
    return f"{rows[0].name} lists its models after login: `pi auth login {owner}`."


def _found_here(pattern: str, registry: ModelRegistry) -> str:
    """Return how to name a model of a local server that was found but never chosen."""
    for status in registry.not_chosen():
        if any(model.id == pattern for model in registry.models.get_models(status.provider)):
            who = f"{status.provider} on {status.address}, owner: {status.owner}"
            return f"A server on this machine has it ({who}): --model {status.provider}/{pattern}"
    return ""


def _list_spellings(names: list[str]) -> list[str]:
    """Return model names as users write them: whole, without the provider, or one word of it."""
    ids = [name.split("/", 1)[1] for name in names]
    name_parts = dict.fromkeys(
        word for id in ids for word in re.split(r"[-/.:_]", id) if word.isalpha()
    )
    return [*names, *ids, *name_parts]


def _suggest(word: str, candidates: list[str]) -> str:
    from pi.base.fuzzy import did_you_mean  # lazy: only for mistyped names

    return did_you_mean(word, candidates)

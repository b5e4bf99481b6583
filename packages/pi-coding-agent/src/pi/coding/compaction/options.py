"""The ``compaction`` and ``branchSummary`` settings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType, field

from pi.agent.compaction.budget import CompactionSettings, Tokens
from pi.ai.models.model import Model
from pi.base.errors import PiError
from pi.base.records import Record, replace
from pi.base.terminal_text import one_line

DEFAULT_STRATEGY = "context-full"
BUILT_IN_STRATEGIES = (DEFAULT_STRATEGY, "shake", "off")
"""Values of ``compaction.strategy`` that need no extension."""


class BadTokens(PiError):
    """An invalid token number in the settings."""


class TokenOverride(Record):
    """Token numbers for one model."""

    reserve_tokens: Tokens | UnsetType = UNSET
    keep_recent_tokens: Tokens | UnsetType = UNSET


class CompactionOptions(CompactionSettings):
    """The ``compaction`` setting, with the names and defaults of the settings file."""

    enabled: bool = True
    """Whether conversations are compacted automatically."""
    strategy: str = DEFAULT_STRATEGY
    """One of ``BUILT_IN_STRATEGIES``, or a strategy of an extension."""
    auto_continue: bool = False
    """Whether the model continues after a compaction at the threshold."""
    drop_useless: bool = True
    """Whether results marked as useless are elided at the next turn."""
    idle_enabled: bool = False
    """Whether an idle session is compacted."""
    idle_threshold_tokens: Tokens = 200_000
    """Minimum tokens for compacting an idle session."""
    idle_timeout_seconds: Annotated[float, Meta(ge=0)] = 300
    """Idle time before the compaction."""
    remote_enabled: bool = False
    """Whether a server may compact: OpenAI's own endpoint, or ``remote_endpoint``."""
    remote_endpoint: str | None = None
    """A server that writes summaries: ``{systemPrompt, prompt}`` in, ``{summary}`` out."""
    fallback_models: tuple[str, ...] = ()
    """Models tried in order when the session's own model returns no summary."""
    model_overrides: dict[str, TokenOverride] = field(default_factory=dict)
    """Token numbers for single models, by ``provider/id``."""

    def for_model(self, model: Model) -> CompactionOptions:
        """Return these options with the numbers for ``model``."""
        override = self.model_overrides.get(f"{model.provider}/{model.id}", TokenOverride())
        options = self
        if override.reserve_tokens is not UNSET:
            options = replace(options, reserve_tokens=override.reserve_tokens)
        if override.keep_recent_tokens is not UNSET:
            options = replace(options, keep_recent_tokens=override.keep_recent_tokens)
        return options


class BranchSummaryOptions(Record):
    """The ``branchSummary`` setting: summaries of branches that the user leaves."""

    enabled: bool = True
    """Whether a summary is offered when a branch is left."""
    reserve_tokens: Tokens = 16_384
    """Reserved for the summary."""
    skip_prompt: bool = False
    """Whether to skip the question; then no summary is made."""

    @property
    def asks(self) -> bool:
        """Whether the user is asked about a summary."""
        return self.enabled and not self.skip_prompt


STRATEGY_TEXTS = {
    DEFAULT_STRATEGY: "a summary by a model, and the newest part as it is",
    "shake": "the largest old tool results become notes; no model is asked",
    "off": "never automatic",
}
"""What the built-in strategies do."""


def known_strategies(others: Iterable[str] = ()) -> list[str]:
    """Return the names of all strategies, built-in ones first."""
    return list(dict.fromkeys((*BUILT_IN_STRATEGIES, *others)))


def unknown_strategy(options: CompactionOptions, others: Iterable[str] = ()) -> str:
    """Return the warning for an unknown strategy; empty if it is built in or among ``others``."""
    strategies = known_strategies(others)
    if options.strategy in strategies:
        return ""
    return (
        f'Unknown compaction.strategy "{one_line(options.strategy)}":'
        f" {DEFAULT_STRATEGY} is used. Known strategies: {', '.join(strategies)}"
    )


def check_tokens(raw: object) -> None:
    """Raise ``BadTokens`` if the raw ``compaction`` setting contains an invalid number."""
    for name, value in _token_counts(raw, "compaction"):
        try:
            msgspec.convert(value, Tokens)
        except msgspec.ValidationError:
            literal = msgspec.json.encode(value).decode()
            raise BadTokens(
                f"Invalid {name} setting: {literal}. Expected a non-negative safe integer."
            ) from None


def _token_counts(raw: object, section: str) -> Iterator[tuple[str, Any]]:
    if not isinstance(raw, Mapping):
        return
    for name in ("reserveTokens", "keepRecentTokens"):
        if name in raw:
            yield f"{section}.{name}", raw[name]
    overrides = raw.get("modelOverrides")
    if isinstance(overrides, Mapping):
        for model, numbers in overrides.items():
            yield from _token_counts(numbers, f"{section}.modelOverrides.{model}")

"""The ``compaction`` and ``branchSummary`` objects of the settings file, and what they mean."""

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
    """A number of the settings by which no conversation can be compacted."""


class TokenOverride(Record):
    """Other numbers for one model."""

    reserve_tokens: Tokens | UnsetType = UNSET
    keep_recent_tokens: Tokens | UnsetType = UNSET


class CompactionOptions(CompactionSettings):
    """With the names and defaults of the settings file."""

    enabled: bool = True
    """Whether a conversation is compacted without being asked to."""
    strategy: str = DEFAULT_STRATEGY
    """One of ``BUILT_IN_STRATEGIES``, or a strategy that an extension adds."""
    auto_continue: bool = False
    """Whether the model goes on by itself after a compaction at the threshold."""
    drop_useless: bool = True
    """Whether results that their tool flagged as useless are left out at the next turn."""
    idle_enabled: bool = False
    """Whether a session at rest is compacted."""
    idle_threshold_tokens: Tokens = 200_000
    """Fewer tokens than these are left alone while the session rests."""
    idle_timeout_seconds: Annotated[float, Meta(ge=0)] = 300
    """How long a session rests before it is compacted."""
    fallback_models: tuple[str, ...] = ()
    """Asked for a summary, in order, when the session's own model gives none."""
    model_overrides: dict[str, TokenOverride] = field(default_factory=dict)
    """Other token numbers for single models, by ``provider/id``."""

    def for_model(self, model: Model) -> CompactionOptions:
        """These options with the numbers that hold for ``model``."""
        override = self.model_overrides.get(f"{model.provider}/{model.id}", TokenOverride())
        options = self
        if override.reserve_tokens is not UNSET:
            options = replace(options, reserve_tokens=override.reserve_tokens)
        if override.keep_recent_tokens is not UNSET:
            options = replace(options, keep_recent_tokens=override.keep_recent_tokens)
        return options

    @property
    def automatic(self) -> bool:
        """Whether anything happens by itself."""
        return self.enabled and self.strategy != "off"


class BranchSummaryOptions(Record):
    """What happens to a branch that is left."""

    enabled: bool = True
    """Whether leaving a branch offers a summary of it."""
    reserve_tokens: Tokens = 16_384
    """Left free for the summary."""
    skip_prompt: bool = False
    """Whether nothing is asked; then there is no summary."""

    @property
    def asks(self) -> bool:
        """Whether the user is asked about a summary."""
        return self.enabled and not self.skip_prompt


def unknown_strategy(options: CompactionOptions, others: Iterable[str] = ()) -> str:
    """What to say of a strategy that is neither built in nor among ``others``; empty if known."""
    known = list(dict.fromkeys((*BUILT_IN_STRATEGIES, *others)))
    if options.strategy in known:
        return ""
    return (
        f'Unknown compaction.strategy "{one_line(options.strategy)}":'
        f" {DEFAULT_STRATEGY} is used. Known strategies: {', '.join(known)}"
    )


def check_tokens(raw: object) -> None:
    """Raise ``BadTokens`` if ``raw``, the ``compaction`` of the settings, counts what cannot be."""
    for name, value in _token_counts(raw, "compaction"):
        try:
            msgspec.convert(value, Tokens)
        except msgspec.ValidationError:
            shown = msgspec.json.encode(value).decode()
            raise BadTokens(
                f"Invalid {name} setting: {shown}. Expected a non-negative safe integer."
            ) from None


def _token_counts(raw: object, where: str) -> Iterator[tuple[str, Any]]:
    if not isinstance(raw, Mapping):
        return
    for name in ("reserveTokens", "keepRecentTokens"):
        if name in raw:
            yield f"{where}.{name}", raw[name]
    overrides = raw.get("modelOverrides")
    if isinstance(overrides, Mapping):
        for model, numbers in overrides.items():
            yield from _token_counts(numbers, f"{where}.modelOverrides.{model}")

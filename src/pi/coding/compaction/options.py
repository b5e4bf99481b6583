"""The ``compaction`` and ``branchSummary`` objects of the settings file, and what they mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from pi.agent.compaction.settings import CompactionSettings, Tokens
from pi.ai.models.model import Model
from pi.base.errors import PiError
from pi.base.records import UNSET, Record, UnsetType, field, replace


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
    strategy: str = "context-full"
    """``context-full``, ``shake``, ``off``, or a strategy of an extension."""
    auto_continue: bool = False
    """Whether the model is asked to go on after a compaction that nobody waits for."""
    drop_useless: bool = True
    """Whether results that their tool called useless are left out early."""
    idle_enabled: bool = False
    idle_threshold_tokens: int = 200_000
    idle_timeout_seconds: float = 300
    fallback_models: tuple[str, ...] = ()
    """Asked for a summary, in order, when the session's own model gives none."""
    model_overrides: dict[str, TokenOverride] = field(default_factory=dict)

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

    enabled: bool = False
    """Whether it is summarised without asking."""
    reserve_tokens: int = 16_384
    skip_prompt: bool = False


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

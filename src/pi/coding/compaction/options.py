"""The ``compaction`` and ``branchSummary`` objects of the settings file, and what they mean."""

from __future__ import annotations

from pi.agent.compaction.settings import CompactionSettings
from pi.ai.models.model import Model
from pi.base.records import UNSET, Record, UnsetType, field, replace


class TokenOverride(Record):
    """Other numbers for one model."""

    reserve_tokens: int | UnsetType = UNSET
    keep_recent_tokens: int | UnsetType = UNSET


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

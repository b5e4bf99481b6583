"""Answers ``context_full`` by switching to the configured model, once for each session."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

from pi.extension import (
    ContextFullAnswer,
    ContextFullEvent,
    ExtensionAPI,
    ExtensionContext,
    Model,
)

SETTINGS: tuple[tuple[str, Any, Any, str], ...] = (
    ("contextPromotion.enabled", bool, False, "switch to a larger model before a compaction"),
    ("contextPromotionTarget", str | dict[str, str], "", "the model, or models by model"),
)


def extension(pi: ExtensionAPI) -> None:
    """Subscribe to ``context_full``; the handler checks whether promotion is on."""
    pi.settings.declare_all(SETTINGS)
    pi.on("context_full", ContextPromotion(pi).full)


class ContextPromotion:
    """Promotes one session at most once: a chain of promotions would only move the costs."""

    def __init__(self, pi: ExtensionAPI) -> None:
        self._pi = pi
        self._is_promoted = False
        self._is_warned = False

    async def full(
        self, event: ContextFullEvent, ctx: ExtensionContext
    ) -> ContextFullAnswer | None:
        """Switch to the larger model if the conversation fits there."""
        current = ctx.model
        is_on = self._pi.settings.get("contextPromotion.enabled") is True
        if self._is_promoted or not is_on or current is None or event.reason == "idle":
            return None
        target = self._target(event, current)
        if target is None:
            return None
        if not await self._pi.models.use(target):
            self._warn(f"there are no credentials for {target.provider}")
            return None
        self._is_promoted = True
        ctx.ui.notify(
            f"The window of {current.id} is full: {target.id} continues"
            f" ({target.context_window:,} tokens). /model switches back."
        )
        return ContextFullAnswer(handled=True)

    def _target(self, event: ContextFullEvent, current: Model) -> Model | None:
        """Return the configured model; ``None`` if it is unknown, current or not larger."""
        name = target_of(self._pi.settings.get("contextPromotionTarget"), current)
        target = self._pi.models.resolve(name) if name else None
        if name and target is None:
            self._warn(f'no known model matches "{name}"')
        if target is None or (target.provider, target.id) == (current.provider, current.id):
            return None
        if target.context_window <= max(event.window, event.tokens):
            self._warn(f"the window of {target.id} is not larger")
            return None
        return target

    def _warn(self, message: str) -> None:
        """Report a wrong target once; the conversation is compacted as usual."""
        if not self._is_warned:
            self._is_warned = True
            self._pi.warn(f"contextPromotionTarget: {message}. The conversation is compacted.")


def target_of(setting: object, current: Model) -> str:
    """Return the model that takes over from ``current``; empty if none is configured.

    The setting is one model for all, or an object that maps patterns of models to models.
    """
    if isinstance(setting, str):
        return setting
    if isinstance(setting, dict):
        full = f"{current.provider}/{current.id}"
        for pattern, target in setting.items():
            if fnmatchcase(full, pattern) or fnmatchcase(current.id, pattern):
                return str(target)
    return ""

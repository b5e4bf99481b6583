"""What the command line, or a program that embeds pi, wants of a session."""

from __future__ import annotations

from typing import Any

from pi.ai.models.model import ThinkingLevel
from pi.base.records import Record, field
from pi.coding.extension_host.finding import Wanted as WantedExtensions
from pi.coding.resources.discovery import Wanted


class ToolWishes(Record):
    """Which tools are on."""

    only: tuple[str, ...] | None = None
    """``--tools``: these and no others."""
    without: tuple[str, ...] = ()
    """``--exclude-tools``; applied last."""
    built_in: bool = True
    any: bool = True
    """``--no-tools`` says no."""

    def within(self, limits: ToolWishes) -> ToolWishes:
        """These wishes as far as ``limits`` allow them."""
        only = self.only
        if limits.only is not None:
            only = limits.only if only is None else tuple(n for n in only if n in limits.only)
        return ToolWishes(
            only=only,
            without=(*limits.without, *self.without),
            built_in=self.built_in and limits.built_in,
            any=self.any and limits.any,
        )


class SessionOptions(Record):
    """Everything that may be said; what is left out is discovered or has its default."""

    model: str | None = None
    provider: str | None = None
    api_key: str | None = None
    thinking: ThinkingLevel | None = None
    models: tuple[str, ...] | None = None
    """Patterns of the models to cycle through."""
    tools: ToolWishes = ToolWishes()
    resources: Wanted = Wanted()
    extensions: WantedExtensions = WantedExtensions()
    approve: bool | None = None
    """Trust for this run; ``None`` leaves it to what is stored."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Beat the settings files, for this run."""
    name: str | None = None
    offline: bool = False

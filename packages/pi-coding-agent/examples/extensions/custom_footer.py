"""A custom footer: the model and its context usage."""

from __future__ import annotations

from collections.abc import Sequence

from pi.extension import ExtensionAPI, ExtensionContext, SessionStartEvent


class Footer:
    """One line; anything with ``render(width)`` can be drawn."""

    def __init__(self, ctx: ExtensionContext) -> None:
        self._ctx = ctx

    def render(self, width: int) -> Sequence[str]:
        """Return the line, at most as wide as the screen."""
        model = self._ctx.model.id if self._ctx.model else "no model"
        usage = self._ctx.get_context_usage()
        full = "?" if usage is None or usage.percent is None else f"{usage.percent:.0f} %"
        return [f"{model}, {full} full"[:width]]


def extension(pi: ExtensionAPI) -> None:
    """Replace the footer; without a screen the call has no effect."""

    @pi.on("session_start")
    def start(event: SessionStartEvent, ctx: ExtensionContext) -> None:
        ctx.ui.set_footer(lambda *arguments: Footer(ctx))

"""Show the duration of the session in the status line."""

from __future__ import annotations

from pi.extension import ExtensionAPI, ExtensionContext, SessionStartEvent


def extension(pi: ExtensionAPI) -> None:
    """Start a timer that ends with the session."""

    @pi.on("session_start")
    def start(event: SessionStartEvent, ctx: ExtensionContext) -> None:
        began = pi.scope.clock.monotonic()

        def tick() -> None:
            minutes = int(pi.scope.clock.monotonic() - began) // 60
            ctx.ui.set_status("time", f"{minutes} min")

        tick()
        pi.scope.every(60, tick)

"""What cannot be done while the agent is at work."""

from __future__ import annotations

from pi.base.errors import PiError
from pi.modes.interactive.dialogs.panel import shown_key
from pi.modes.interactive.ui import Ui


def must_be_idle(ui: Ui) -> None:
    """Say no with a ``PiError``, and with what to do about it, while an answer is coming."""
    if ui.port.facts.state().is_streaming:
        stop = " or ".join(map(shown_key, ui.keymap.keys("app.interrupt")))
        ways = f"Wait for the answer, or stop it with {stop}." if stop else "Wait for the answer."
        raise PiError("The agent is at work.", hint=ways)

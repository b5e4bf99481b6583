"""How the conversation and the work on it are shown, as far as extensions may say."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pi.modes.interactive.status.activity import Activity
from pi.modes.interactive.status.indicator import FRAMES, TICK
from pi.modes.interactive.status.window import Window
from pi.modes.interactive.transcript.look import THINKING
from pi.modes.interactive.transcript.view import TranscriptView


class Showing:
    """Changes what other regions show; ``refresh`` draws everything anew."""

    def __init__(
        self,
        activity: Activity,
        window: Window,
        transcript: TranscriptView,
        *,
        refresh: Callable[[], None],
    ) -> None:
        self._activity = activity
        self._window = window
        self._transcript = transcript
        self._refresh = refresh

    def set_title(self, title: str) -> None:
        """Call the window something else; empty brings its usual name back."""
        self._window.override(title)

    def set_working_message(self, message: str | None) -> None:
        """Say something in place of what the agent does."""
        self._activity.indicator.message = message
        self._activity.on_work()

    def set_working_visible(self, *, visible: bool) -> None:
        """Show that the agent works, or hide it."""
        self._activity.indicator.is_visible = visible
        self._activity.on_work()

    def set_working_frames(self, frames: Sequence[str] | None, interval: float | None) -> None:
        """Show another spinner; ``None`` is the usual one."""
        indicator = self._activity.indicator
        indicator.frames = FRAMES if frames is None else tuple(frames)
        indicator.interval = interval or TICK
        self._activity.on_work()

    def set_thinking_label(self, label: str | None) -> None:
        """Say what stands for thoughts that are hidden; ``None`` is the usual word."""
        self._transcript.call_thinking(THINKING if label is None else label)
        self._refresh()

    @property
    def is_expanded(self) -> bool:
        """Whether outputs of tools are shown whole."""
        return self._transcript.look.is_expanded

    def expand(self, *, expanded: bool) -> None:
        """Show outputs of tools whole, or folded."""
        if expanded != self.is_expanded:
            self._transcript.expand(expanded=expanded)
            self._refresh()

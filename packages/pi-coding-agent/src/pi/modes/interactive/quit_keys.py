"""Keys that clear the text and, pressed twice, quit."""

from __future__ import annotations

from collections.abc import Callable

from pi.base.clock import Clock
from pi.base.tasks import TaskScope
from pi.modes.interactive.layout import AppLayout
from pi.tui.input.keys import is_key_release

TWICE_SECONDS = 0.5
"""Maximum seconds between two presses of a double press."""
EXIT_HINT_SECONDS = 1.5
"""Seconds for which the hint is shown; meanwhile a further press exits."""


class DoublePressDetector:
    """Remembers the last press of one key."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last: float | None = None

    def is_second(self) -> bool:
        """Record a press; returns whether it completes a double press, which resets it."""
        now, last = self._clock.monotonic(), self._last
        is_second = last is not None and now - last <= TWICE_SECONDS
        self._last = None if is_second else now
        return is_second

    @property
    def is_pending(self) -> bool:
        """Whether another press now would be the second one."""
        return self._last is not None and self._clock.monotonic() - self._last <= TWICE_SECONDS


class QuitKeys:
    """Ctrl+C clears the text, interrupts the run, then quits; Ctrl+D quits an empty editor.

    With text, a press clears it, and a second one within half a second quits. Without text, a press
    interrupts the run, if there is one, and shows a hint for a short time: while it is visible, a
    further press quits, and every other key removes it. The keys work from the first frame on.
    """

    def __init__(
        self,
        frame: AppLayout,
        tasks: TaskScope,
        *,
        clock: Clock,
        quit: Callable[[], None],
    ) -> None:
        self.interrupt: Callable[[], object] = lambda: None
        """Interrupts the run, if there is one; set when the session is open."""
        self._frame = frame
        self._composer = frame.composer
        self._tasks = tasks
        self._clock = clock
        self._quit = quit
        self._presses = DoublePressDetector(clock)
        self._end_hint: Callable[[], None] | None = None
        """Removes the hint; ``None`` while it is not shown."""

    def act(self, action: str) -> bool:
        """Run an action; returns whether it was handled."""
        match action:
            case "app.clear":
                self._clear()
                return True
            case "app.exit" if not self._composer.text:
                self._quit()
                return True
        return False

    def end_hint(self) -> None:
        """Remove the hint, e.g. because text returned to the editor: the next press clears it."""
        if self._end_hint is not None:
            self._end_hint()

    def _clear(self) -> None:
        has_text = bool(self._composer.text)
        if self._end_hint is not None:
            self._end_hint()
            if not has_text:  # queued messages may have returned to the editor
                self._quit()
                return
        if has_text or self._presses.is_pending:
            if self._presses.is_second():
                self._quit()
            else:
                self._composer.take()  # Up restores it
        else:
            self.interrupt()
            self._show_hint()

    def _show_hint(self) -> None:
        """Shows that a further press quits, until the time is over or another key is pressed."""
        # deferred: not needed for the first frame
        from pi.modes.interactive.dialogs.message import shown_key

        frame, notice = self._frame, self._frame.passing
        keys = frame.keymap.keys("app.clear")
        text = f"Press {shown_key(keys[0] if keys else '')} again to exit"
        stop_listening = frame.tui.add_input_listener(self._other_key)

        def end() -> None:
            self._end_hint = None
            stop_listening()
            if notice.text == text:
                notice.show("")
                frame.tui.request_render()

        self._end_hint = end
        notice.show(text)
        frame.tui.request_render()
        self._tasks.start(self._expire(end), name="exit hint")

    async def _expire(self, end: Callable[[], None]) -> None:
        await self._clock.sleep(EXIT_HINT_SECONDS)
        if self._end_hint is end:
            end()

    def _other_key(self, data: str) -> None:
        is_other = not is_key_release(data) and not self._frame.keymap.matches(data, "app.clear")
        if is_other and self._end_hint is not None:
            self._end_hint()

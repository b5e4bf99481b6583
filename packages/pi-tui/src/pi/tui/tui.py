"""``TUI``: connects components, focus, overlays, display, terminal and render loop.

``TUI`` has little state of its own; each of these parts holds its own state.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

from pi.base.records import Record
from pi.tui.component import Component, wants_key_release
from pi.tui.display import Display, Leave, NewPage, PlainDisplay, RegularDisplay
from pi.tui.input.decoder import (
    Decoder,
    InputEvent,
    InputListener,
    InputReader,
    KeyListeners,
    Paste,
)
from pi.tui.input.keys import is_key_release
from pi.tui.input.reports import MouseReport, ScreenSize
from pi.tui.negotiation import ColourSchemeState, Negotiation
from pi.tui.overlays import FocusState, OverlayHandle, OverlayOptions, Overlays
from pi.tui.screen.pane_match import PaneReader, PaneText, ReadPane, ResizeTracker
from pi.tui.screen.screen import Repaint
from pi.tui.terminal import Capabilities, Listener, Size, Terminal, Timer, Timers, detect, timing
from pi.tui.terminal_colours import ReportedColours

Mode: TypeAlias = Literal["regular", "fullscreen", "plain"]
"""``plain`` writes lines for screen readers."""

FRAME_SECONDS = 1 / 60
MAX_FRAME_SECONDS = 0.25
SETTLE_SECONDS = {False: 0.05, True: 0.3}
"""Seconds without a further resize before painting, outside and inside a pane.

tmux changes its grid immediately, but reports the size at most every 250 ms. Only after a longer
pause is the reported size current, and output goes to the right place.
"""


class TUI:
    """A tree of components on a terminal.

    The terminal is recognised by ``env``. Children are drawn from top to bottom. With ``strict``, a
    row that is too wide raises, for tests; otherwise it is cut. ``follow_scheme`` queries whether
    the terminal is dark or light, and subscribes to changes. ``read_pane`` reads the contents of
    the pane; by default tmux is used, if present.
    """

    def __init__(
        self,
        terminal: Terminal,
        *,
        env: Mapping[str, str],
        mode: Mode = "regular",
        capabilities: Capabilities | None = None,
        strict: bool = False,
        follow_scheme: bool = False,
        on_disconnect: Callable[[], None] | None = None,
        read_pane: ReadPane | None = None,
    ) -> None:
        self.terminal = terminal
        self.mode = mode
        self.capabilities = capabilities or detect(env)
        self.appearance = ColourSchemeState(env)
        self.colours = ReportedColours()
        """The colours of the terminal, once ``negotiation.follow_colours`` was called."""
        self.overlays = Overlays(FocusState(), size=lambda: terminal.size)
        self._size = terminal.size
        self.display = _display(mode, self._size, self.capabilities, strict=strict)
        self.display.show_cursor = self.capabilities.hardware_cursor
        self.negotiation = Negotiation(
            self.capabilities,
            self.appearance,
            write=terminal.write,
            follow_scheme=follow_scheme,
            colours=self.colours,
        )
        self._decoder = Decoder(
            timing(env), ctrl_backspace=self.capabilities.brand == "windows-terminal"
        )
        read_pane = read_pane or find_pane_reader(env)
        self._pane_reader = read_pane and PaneReader(
            size=lambda: terminal.size,
            when_processed=self.negotiation.when_processed,
            read=read_pane,
        )
        self._on_disconnect = on_disconnect
        self._listeners = KeyListeners()
        self._changed: set[Component] | None = None
        """The components to draw again; None for all."""
        self._repaint = Repaint.CHANGES
        self._running: _Running | None = None
        self._leave: Leave = "for good"
        self.closing_sequences: Callable[[], str] = lambda: ""
        """Returns sequences to write last whenever the terminal is restored."""

    @property
    def is_running(self) -> bool:
        """Whether the terminal is in use."""
        return self._running is not None

    def add_child(self, child: Component) -> None:
        """Add a component at the bottom."""
        self.display.root.add_child(child)
        self.request_render()

    def remove_child(self, child: Component) -> None:
        """Remove a component."""
        self.display.root.remove_child(child)
        self.request_render()

    def clear(self) -> None:
        """Remove all components."""
        self.display.root.clear()
        self.request_render()

    def set_focus(self, target: Component | None) -> None:
        """Focuse a component; while an overlay has the focus, it takes effect afterwards."""
        self.overlays.set_focus_below(target)
        self.request_render()

    def show_overlay(
        self, component: Component, options: OverlayOptions | None = None
    ) -> OverlayHandle:
        """Show a component above the others until its handle's ``hide`` is called."""
        handle = self.overlays.show(component, options)
        self.request_render()
        return handle

    def hide_overlay(self) -> None:
        """Close the topmost overlay."""
        self.overlays.remove_top()
        self.request_render()

    def request_render(self, *, force: bool = False, clear_scrollback: bool = False) -> None:
        """Schedule a frame. ``force`` rewrites the window, e.g. after another program wrote there.

        ``clear_scrollback`` also rewrites history, where possible. Use it only on the user's
        request, such as opening another session.
        """
        self._changed = None
        if clear_scrollback:
            self._repaint = self.display.reset()
        elif force and self._repaint is Repaint.CHANGES:
            self._repaint = Repaint.WINDOW
        self._schedule()

    def request_component_render(self, component: Component) -> None:
        """Schedule a frame for a change in one component only, such as a spinner."""
        if self._changed is not None:
            self._changed.add(component)
        self._schedule()

    @property
    def is_painted(self) -> bool:
        """Whether the terminal has everything that was requested."""
        running = self._running
        return running is None or not (running.loop.is_pending or running.resizing.is_pending)

    def render_now(self) -> None:
        """Paint a scheduled frame immediately, except during a resize."""
        if self._running is not None and not self._running.resizing.is_pending:
            self._running.loop.paint_now()

    def reset_display(self, page: NewPage | None = None) -> None:
        """Draw everything again: invalidate all components and rewrite history.

        Where history cannot be rewritten, ``page`` is begun if it has another text.
        """
        self.display.root.invalidate()
        self._changed = None
        self._repaint = self.display.reset(page)
        self._schedule()

    def add_input_listener(
        self, listener: InputListener, *, first: bool = False
    ) -> Callable[[], None]:
        """Add a listener that receives every key before the focused component.

        ``first`` puts it before other listeners. Returns an unsubscribe function.
        """
        return self._listeners.add(listener, first=first)

    def start(self, timers: Timers | None = None) -> None:
        """Take over the terminal. ``timers`` defaults to the running event loop."""
        timers = timers or asyncio.get_running_loop()
        self._size = self.terminal.size
        self.display.resize(self._size)
        loop = RenderLoop(timers, self._paint, is_busy=lambda: self.terminal.backlog > 0)
        pump = InputReader(self._decoder, timers, self._handle)
        resizing = ResizeTracker(
            timers,
            self._resized,
            seconds=SETTLE_SECONDS[self.capabilities.multiplexer],
            pane_reader=self._pane_reader,
        )
        self._running = _Running(loop, pump, resizing)
        listener = Listener(
            on_input=pump.feed,
            on_resize=self._resizing,
            on_resume=self._resumed,
            on_disconnect=self._disconnected,
        )
        self.terminal.start(listener, restore=self._restoring)
        self._open()

    def stop(self, *, for_now: bool = False) -> None:
        """Release the terminal; its contents stay.

        ``for_now`` means that the program will start again soon, e.g. after an external editor.
        """
        if self._running is not None:
            if self._running.loop.is_pending:
                self.render_now()
            self._running.stop()
            self._running = None
            self._leave = "lent" if for_now else "for good"
            self.terminal.stop()

    def suspend(self) -> None:
        """Restore the terminal and stop the process until it is continued."""
        if self._running is not None:
            self._leave = "stopped"
            self.terminal.suspend()

    def query_background(self, done: Callable[[], None]) -> None:
        """Query the background. Calls ``done`` when the reply arrived or is unsupported."""
        self.negotiation.query_background(done)

    def __enter__(self) -> TUI:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def _schedule(self) -> None:
        if self._running is not None and not self._running.resizing.is_pending:
            self._running.loop.request()

    def _paint(self) -> None:
        layers = self.overlays.layers()
        self.display.draw(None if layers or self._repaint is not Repaint.CHANGES else self._changed)
        if self.terminal.size != self._size:  # the resize event has not arrived yet
            self._resizing()
            return
        self.display.synchronized = self.negotiation.synchronized
        data = self.display.paint(layers, repaint=self._repaint)
        self._changed, self._repaint = set(), Repaint.CHANGES
        if data:
            self.terminal.write(data)

    def _open(self) -> None:
        self._leave = "for good"
        self.terminal.write(self.display.opening())
        self.negotiation.begin()
        self._changed = None
        self.render_now()

    def _restoring(self) -> str:
        leaving = self.display.closing(self._leave)
        return self.negotiation.ending(leave_window=leaving) + self.closing_sequences()

    def _resizing(self) -> None:
        """Pause painting until the size is stable, because the terminal has moved the rows."""
        if self._running is not None:
            self._running.loop.stop()
            self._running.resizing.restart()

    def _resized(self, pane: PaneText | None) -> None:
        self._size = self.terminal.size
        self._repaint = self.display.resize(self._size, pane)
        self.overlays.update_focus()
        self._changed = None
        self.render_now()

    def _resumed(self) -> None:
        if self._leave != "stopped":  # the process was stopped from outside
            self._leave = "stopped"
            self.terminal.write(self._restoring())
        self._size = self.terminal.size
        self._repaint = self.display.resume(self._size)
        self._open()

    def _disconnected(self) -> None:
        if self._running is not None:
            self._running.stop()
            self._running = None
        if self._on_disconnect is not None:
            self._on_disconnect()

    def _handle(self, event: InputEvent) -> None:
        match event:
            case str():
                self._handle_key(event)
            case Paste():
                self._handle_key(event.data)
            case MouseReport():
                target = self.display.handle_mouse(event, self.overlays.handles)
                if target is not None:
                    self.overlays.focus_pressed(target)
                self.request_render()
            case ScreenSize(columns=columns, rows=rows):
                self.display.acknowledge_frame(Size(columns=columns, rows=rows))
            case reply:
                self.negotiation.handle_reply(reply)

    def _handle_key(self, data: str) -> None:
        self.request_render()
        remaining = self._listeners.filtered(data)
        if remaining is None:
            return
        self.overlays.update_focus()
        target = self.overlays.focus.target
        # By name: a check against the protocol takes as long as handling most keys.
        handle_input = getattr(target, "handle_input", None)
        is_unwanted = is_key_release(remaining) and not wants_key_release(target)
        if handle_input is not None and not is_unwanted:
            handle_input(remaining)


class _Running(Record, kw_only=False):
    """The state while the terminal is in use."""

    loop: RenderLoop
    pump: InputReader
    resizing: ResizeTracker

    def stop(self) -> None:
        self.loop.stop()
        self.pump.stop()
        self.resizing.stop()


def _display(mode: Mode, size: Size, capabilities: Capabilities, *, strict: bool) -> Display:
    if mode == "fullscreen":
        # lazy: most programs do not use fullscreen mode
        from pi.tui.fullscreen.display import FullscreenDisplay

        return FullscreenDisplay(size, strict=strict)
    if mode == "plain":
        return PlainDisplay(size)
    return RegularDisplay(size, in_pane=capabilities.multiplexer, strict=strict)


class RenderLoop:
    """Combines render requests into frames.

    While the terminal has not taken the last frame (``is_busy``), the next one waits. A slow
    terminal gets fewer frames instead of a growing backlog.
    """

    def __init__(
        self, timers: Timers, paint: Callable[[], None], *, is_busy: Callable[[], bool]
    ) -> None:
        self._timers = timers
        self._paint = paint
        self._is_busy = is_busy
        self._pending: Timer | None = None
        self._painted_at = timers.time() - FRAME_SECONDS
        self._pause = FRAME_SECONDS

    @property
    def is_pending(self) -> bool:
        """Whether a frame was requested and not painted yet."""
        return self._pending is not None

    def request(self) -> None:
        """Schedule a frame. Further requests before it have no effect."""
        if self._pending is None:
            wait = self._painted_at + FRAME_SECONDS - self._timers.time()
            self._pending = self._timers.call_later(max(wait, 0.0), self._fire)

    def paint_now(self) -> None:
        """Paint immediately and cancel a scheduled frame."""
        self.stop()
        self._painted_at = self._timers.time()
        self._paint()

    def stop(self) -> None:
        """Cancel a scheduled frame."""
        if self._pending is not None:
            self._pending.cancel()
            self._pending = None

    def _fire(self) -> None:
        self._pending = None
        if self._is_busy():
            self._pause = min(self._pause * 2, MAX_FRAME_SECONDS)
            self._pending = self._timers.call_later(self._pause, self._fire)
            return
        self._pause = FRAME_SECONDS
        self.paint_now()


def find_pane_reader(env: Mapping[str, str]) -> ReadPane | None:
    """Return the function that reads the tmux pane named by the environment, if any."""
    pane_id = env.get("TMUX_PANE")
    if not (env.get("TMUX") and pane_id):
        return None

    def read(done: Callable[[PaneText | None], None]) -> Callable[[], object]:
        from pi.tui.terminals.tmux import (
            read_tmux_pane,  # lazy: needed only after a resize inside tmux
        )

        return read_tmux_pane(pane_id, env, done)

    return read

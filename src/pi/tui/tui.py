"""The screen, the keys and the components, put together.

``TUI`` only connects parts that have their own state: the tree of components, the focus, the
overlays, the display, the conversation with the terminal and the loop that decides when to paint.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

from pi.base.records import Record
from pi.tui.component import Component, wants_key_release
from pi.tui.display import Display, Leave, RegularDisplay
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
from pi.tui.render_loop import PaneReader, ReadPane, RenderLoop, ResizeTracker, find_pane_reader
from pi.tui.screen.pane_match import PaneText
from pi.tui.screen.screen import Repaint
from pi.tui.terminal import Capabilities, Listener, Size, Terminal, Timers, detect, timing

Mode: TypeAlias = Literal["regular", "fullscreen"]

SETTLE_SECONDS = {False: 0.05, True: 0.3}
"""How long no resize must follow another before it is painted, outside and inside a pane.

tmux changes its grid at once and tells of it at most every 250 ms. Only when it has been silent for
longer does it have the size that it told, and what is written goes where it should.
"""


class TUI:
    """A tree of components on a terminal.

    ``env`` is what the terminal is recognised by. Children are drawn from top to bottom. With
    ``strict`` a row that is too wide raises, which tests want; otherwise it is cut.
    ``follow_scheme`` asks the terminal whether it is dark or light, and for word of changes.
    ``look`` says what the pane has in which it is shown; otherwise tmux is asked, if it is there.
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
        self.overlays = Overlays(FocusState(), size=lambda: terminal.size)
        self._size = terminal.size
        self.display = _display(mode, self._size, self.capabilities, strict=strict)
        self.display.show_cursor = self.capabilities.hardware_cursor
        self.negotiation = Negotiation(
            self.capabilities, self.appearance, write=terminal.write, follow_scheme=follow_scheme
        )
        self._decoder = Decoder(
            timing(env), ctrl_backspace=self.capabilities.brand == "windows-terminal"
        )
        read_pane = read_pane or find_pane_reader(env)
        self._pane_reader = read_pane and PaneReader(
            size=lambda: terminal.size, when_taken=self.negotiation.when_taken, read=read_pane
        )
        self._on_disconnect = on_disconnect
        self._listeners = KeyListeners()
        self._changed: set[Component] | None = None
        """What to draw again; None if it may be anything."""
        self._repaint = Repaint.CHANGES
        self._running: _Running | None = None
        self._leave: Leave = "for good"
        self.closing_sequences: Callable[[], str] = lambda: ""
        """What the window is told last whenever the terminal is given back, however that comes."""

    def add_child(self, child: Component) -> None:
        """Put a component below the others."""
        self.display.root.add_child(child)
        self.request_render()

    def remove_child(self, child: Component) -> None:
        """Take a component out."""
        self.display.root.remove_child(child)
        self.request_render()

    def clear(self) -> None:
        """Take all components out."""
        self.display.root.clear()
        self.request_render()

    def set_focus(self, target: Component | None) -> None:
        """Give the keys to a component, or to it after the overlays that have them now."""
        self.overlays.set_focus_below(target)
        self.request_render()

    def show_overlay(
        self, component: Component, options: OverlayOptions | None = None
    ) -> OverlayHandle:
        """Lay a component over the others until its handle's ``hide`` is called."""
        handle = self.overlays.show(component, options)
        self.request_render()
        return handle

    def hide_overlay(self) -> None:
        """Take the topmost overlay off."""
        self.overlays.remove_top()
        self.request_render()

    def request_render(self, *, force: bool = False, clear_scrollback: bool = False) -> None:
        """Paint soon. ``force`` writes the whole window, e.g. after another program wrote there.

        ``clear_scrollback`` also writes history again, where that is possible: only for what a
        person asked for, such as another session.
        """
        self._changed = None
        if clear_scrollback:
            self._repaint = self.display.reset()
        elif force and self._repaint is Repaint.CHANGES:
            self._repaint = Repaint.WINDOW
        self._schedule()

    def request_component_render(self, component: Component) -> None:
        """Paint soon, for a change inside one component only, such as a spinner's next frame."""
        if self._changed is not None:
            self._changed.add(component)
        self._schedule()

    @property
    def is_painted(self) -> bool:
        """Whether the terminal has everything that was asked for."""
        running = self._running
        return running is None or not (running.loop.is_pending or running.resizing.is_pending)

    def render_now(self) -> None:
        """Paint at once what was requested; not while a resize goes on."""
        if self._running is not None and not self._running.resizing.is_pending:
            self._running.loop.paint_now()

    def reset_display(self) -> None:
        """Draw everything anew: all components forget, and history is written again."""
        self.display.root.invalidate()
        self.request_render(clear_scrollback=True)

    def add_input_listener(
        self, listener: InputListener, *, first: bool = False
    ) -> Callable[[], None]:
        """Let ``listener`` see every key before the focused component; returns what ends that.

        ``first`` lets it also see them before other listeners.
        """
        return self._listeners.add(listener, first=first)

    def start(self, timers: Timers | None = None) -> None:
        """Take the terminal. Without ``timers`` those of the running event loop are used."""
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
            on_disconnect=self._gone,
        )
        self.terminal.start(listener, restore=self._restoring)
        self._open()

    def stop(self, *, for_now: bool = False) -> None:
        """Give the terminal back; what was shown stays there.

        ``for_now`` is for whoever starts again soon, e.g. when another program has ended.
        """
        if self._running is not None:
            if self._running.loop.is_pending:
                self.render_now()
            self._running.stop()
            self._running = None
            self._leave = "lent" if for_now else "for good"
            self.terminal.stop()

    def suspend(self) -> None:
        """Give the terminal back and stop the process, until somebody continues it."""
        if self._running is not None:
            self._leave = "stopped"
            self.terminal.suspend()

    def query_background(self, done: Callable[[], None]) -> None:
        """Ask for the background; ``done`` when ``appearance`` knows it or never will."""
        self.negotiation.ask_background(done)

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
        if self.terminal.size != self._size:  # and word of it has not come yet
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
        """Paint nothing until the size is settled: the terminal has moved what stood there."""
        if self._running is not None:
            self._running.loop.stop()
            self._running.resizing.restart()

    def _resized(self, tape: PaneText | None) -> None:
        self._size = self.terminal.size
        self._repaint = self.display.resize(self._size, tape)
        self.overlays.settle()
        self._changed = None
        self.render_now()

    def _resumed(self) -> None:
        if self._leave != "stopped":  # somebody else has stopped the process
            self._leave = "stopped"
            self.terminal.write(self._restoring())
        self._size = self.terminal.size
        self._repaint = self.display.resume(self._size)
        self._open()

    def _gone(self) -> None:
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
                self.negotiation.take(reply)

    def _handle_key(self, data: str) -> None:
        self.request_render()
        remaining = self._listeners.filtered(data)
        if remaining is None:
            return
        self.overlays.settle()
        target = self.overlays.focus.target
        # By name: asking for the protocol takes as long as most keys do.
        handle_input = getattr(target, "handle_input", None)
        is_unwanted = is_key_release(remaining) and not wants_key_release(target)
        if handle_input is not None and not is_unwanted:
            handle_input(remaining)


class _Running(Record, kw_only=False):
    """What exists only while the terminal is ours."""

    loop: RenderLoop
    pump: InputReader
    resizing: ResizeTracker

    def stop(self) -> None:
        self.loop.stop()
        self.pump.stop()
        self.resizing.stop()


def _display(mode: Mode, size: Size, capabilities: Capabilities, *, strict: bool) -> Display:
    if mode == "fullscreen":
        # Not at the top: most programs never take the whole screen.
        from pi.tui.fullscreen.display import FullscreenDisplay

        return FullscreenDisplay(size, strict=strict)
    return RegularDisplay(size, in_pane=capabilities.multiplexer, strict=strict)

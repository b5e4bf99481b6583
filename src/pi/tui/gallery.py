"""All widgets on one screen: ``python -m pi.tui.gallery``.

Tab selects the next widget, Ctrl+T switches between light and dark, Escape leaves a field, and
``q`` (outside of fields) or Ctrl+C quits. ``--print WIDTH`` prints the frame as plain text.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence

from pi.tui import gallery_samples as samples
from pi.tui.component import Component
from pi.tui.containers import Container, Spacer
from pi.tui.gallery_samples import Paints, Scheme
from pi.tui.images.graphics import Graphics, Image
from pi.tui.input.decoder import InputDecision
from pi.tui.input.keys import matches_key
from pi.tui.stacks import HStack, VStack
from pi.tui.style import ColourDepth
from pi.tui.terminal import Capabilities, Terminal, detect, has_placeholders
from pi.tui.terminals.posix import own_terminal
from pi.tui.text.ansi import strip_sequences
from pi.tui.tui import TUI
from pi.tui.widgets.loader import INTERVAL, Loader
from pi.tui.widgets.markdown.widget import Markdown
from pi.tui.widgets.text import TruncatedText


class Gallery:
    """All widgets, from top to bottom.

    Focus ``active``; ``next`` selects the next widget.
    """

    def __init__(
        self,
        scheme: Scheme = "dark",
        depth: ColourDepth = ColourDepth.TRUE,
        *,
        graphics: Graphics | None = None,
        has_hyperlinks: bool = False,
    ) -> None:
        paints = Paints(samples.PALETTES[scheme], depth)
        loader = Loader("Working", paint_spinner=paints.accent, paint_message=paints.muted)
        waiting = samples.waiting(paints)
        self.loaders: tuple[Loader, ...] = (loader, waiting)
        self.fields: tuple[Component, ...] = (samples.input(paints), samples.editor(paints))
        self._ring: tuple[Component, ...] = (
            samples.select(paints),
            samples.settings(paints),
            *self.fields,
            waiting,
        )
        self._place = 0
        markdown = Markdown(
            samples.MARKDOWN, 1, 0, samples.markdown_theme(paints), has_hyperlinks=has_hyperlinks
        )
        self._inside = Container(
            TruncatedText(paints.title(f"Gallery, {scheme}: Tab, Ctrl+T and q do something")),
            *_section("Text, Box and HStack", paints, HStack(*samples.boxes(paints), gap=2)),
            *_section("Markdown", paints, markdown),
            *_section("SelectList", paints, self._ring[0]),
            *_section("SettingsList", paints, self._ring[1]),
            *_section(
                "VStack, Loader, CancellableLoader and ProgressBar",
                paints,
                VStack(*self.loaders, Spacer(1), samples.bar(paints)),
            ),
            *_section(
                "Image", paints, Image(samples.sample_picture(), graphics, paint=paints.muted)
            ),
            *_section("Input", paints, self.fields[0]),
            *_section("Editor", paints, self.fields[1]),
        )
        self.invalidate = self._inside.invalidate
        """Invalidates all widgets."""
        self.render = self._inside.render
        """Returns the rows of the gallery."""

    @property
    def children(self) -> tuple[Component, ...]:
        """The widgets."""
        return self._inside.children

    @property
    def active(self) -> Component:
        """The widget that receives keys."""
        return self._ring[self._place]

    def next(self) -> None:
        """Activates the next widget that takes keys."""
        self._place = (self._place + 1) % len(self._ring)

    def leave(self) -> None:
        """Activates the first widget."""
        self._place = 0


def frame(width: int, scheme: Scheme = "dark") -> list[str]:
    """Returns the gallery as rows of plain text."""
    return [strip_sequences(row).rstrip() for row in Gallery(scheme).render(width)]


async def show(terminal: Terminal, capabilities: Capabilities, env: dict[str, str]) -> None:
    """Runs the gallery on a terminal until the user quits."""
    tui = TUI(terminal, env=env, capabilities=capabilities)
    visit = _Visit(tui, has_placeholders=has_placeholders(capabilities, env))
    tui.add_input_listener(visit.handle_key)
    tui.start()
    try:
        await visit.tick_until_done()
    finally:
        tui.stop()


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command."""
    parser = argparse.ArgumentParser(prog="python -m pi.tui.gallery", description=__doc__)
    parser.add_argument("--print", type=int, metavar="WIDTH", dest="width")
    parser.add_argument("--light", action="store_true", help="print the light one")
    options = parser.parse_args(arguments)
    if options.width:
        rows = frame(options.width, "light" if options.light else "dark")
        sys.stdout.write("".join(f"{row}\n" for row in rows))
        return 0
    env = dict(os.environ)
    asyncio.run(show(own_terminal(env, platform=sys.platform), detect(env), env))
    return 0


class _Visit:
    """One run of the gallery."""

    def __init__(self, tui: TUI, *, has_placeholders: bool) -> None:
        self._tui = tui
        self._graphics = Graphics(
            tui.capabilities.images, write=tui.terminal.write, has_placeholders=has_placeholders
        )
        self._scheme: Scheme = "dark"
        self._done = asyncio.Event()
        self._open()

    def handle_key(self, data: str) -> InputDecision | None:
        """Handles the keys of the gallery; other keys go to the active widget."""
        is_typing = self._gallery.active in self._gallery.fields
        if matches_key(data, "ctrl+c") or (matches_key(data, "q") and not is_typing):
            self._done.set()
        elif matches_key(data, "ctrl+t"):
            self._scheme = "light" if self._scheme == "dark" else "dark"
            self._open()
        elif matches_key(data, "tab"):
            self._gallery.next()
        elif matches_key(data, "escape") and is_typing:
            self._gallery.leave()
        else:
            return None
        self._tui.set_focus(self._gallery.active)
        return InputDecision(consume=True)

    async def tick_until_done(self) -> None:
        """Advances the spinner until the gallery is closed."""
        clock = asyncio.get_running_loop().time
        while not self._done.is_set():
            for loader in self._gallery.loaders:
                if loader.tick(clock()):
                    self._tui.request_component_render(loader)
            try:
                await asyncio.wait_for(self._done.wait(), INTERVAL)
            except TimeoutError:
                continue

    def _open(self) -> None:
        self._gallery = Gallery(
            self._scheme,
            self._tui.capabilities.colours,
            graphics=self._graphics,
            has_hyperlinks=self._tui.capabilities.hyperlinks,
        )
        self._tui.clear()
        self._tui.add_child(self._gallery)
        self._tui.set_focus(self._gallery.active)


def _section(title: str, paints: Paints, *widgets: Component) -> tuple[Component, ...]:
    return (Spacer(1), TruncatedText(paints.muted(f"── {title}")), *widgets)


if __name__ == "__main__":
    sys.exit(main())

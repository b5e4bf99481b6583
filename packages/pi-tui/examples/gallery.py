"""All widgets on one screen: ``python gallery.py``.

Tab selects the next widget, Ctrl+T switches between light and dark, Escape leaves a field, and
``q`` (outside of fields) or Ctrl+C quits. ``--print WIDTH`` prints the frame as plain text, which
also happens without a terminal.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Literal, TypeAlias

from pi.tui.component import Component
from pi.tui.containers import Container, Spacer
from pi.tui.images.graphics import Graphics, Image, ImageData, picture
from pi.tui.input.decoder import InputDecision
from pi.tui.input.keys import matches_key
from pi.tui.stacks import HStack, VStack
from pi.tui.style import ColourDepth, Style, painter
from pi.tui.terminal import Capabilities, Terminal, detect, has_placeholders
from pi.tui.terminals import own_terminal
from pi.tui.text.ansi import strip_sequences
from pi.tui.tui import TUI
from pi.tui.widgets.editor.editor import Editor
from pi.tui.widgets.editor.layout import EditorTheme
from pi.tui.widgets.input import Input
from pi.tui.widgets.loader import INTERVAL, CancellableLoader, Loader, ProgressBar
from pi.tui.widgets.markdown.nodes import CodeTheme, MarkdownTheme
from pi.tui.widgets.markdown.widget import Markdown
from pi.tui.widgets.select_list import SelectItem, SelectList, SelectTheme
from pi.tui.widgets.settings_list import SettingItem, SettingsList, SettingsTheme
from pi.tui.widgets.text import Box, Text, TruncatedText


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
        paints = Paints(PALETTES[scheme], depth)
        loader = Loader("Working", paint_spinner=paints.accent, paint_message=paints.muted)
        waiting = sample_waiting(paints)
        self.loaders: tuple[Loader, ...] = (loader, waiting)
        self.fields: tuple[Component, ...] = (sample_input(paints), sample_editor(paints))
        self._ring: tuple[Component, ...] = (
            sample_select(paints),
            sample_settings(paints),
            *self.fields,
            waiting,
        )
        self._index = 0
        markdown = Markdown(MARKDOWN, 1, 0, markdown_theme(paints), has_hyperlinks=has_hyperlinks)
        self._inside = Container(
            TruncatedText(paints.title(f"Gallery, {scheme}: Tab, Ctrl+T and q do something")),
            *_section("Text, Box and HStack", paints, HStack(*sample_boxes(paints), gap=2)),
            *_section("Markdown", paints, markdown),
            *_section("SelectList", paints, self._ring[0]),
            *_section("SettingsList", paints, self._ring[1]),
            *_section(
                "VStack, Loader, CancellableLoader and ProgressBar",
                paints,
                VStack(*self.loaders, Spacer(1), sample_bar(paints)),
            ),
            *_section("Image", paints, Image(sample_picture(), graphics, paint=paints.muted)),
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
        return self._ring[self._index]

    def next(self) -> None:
        """Activate the next widget that takes keys."""
        self._index = (self._index + 1) % len(self._ring)

    def leave(self) -> None:
        """Activate the first widget."""
        self._index = 0


def frame(width: int, scheme: Scheme = "dark") -> list[str]:
    """Return the gallery as rows of plain text."""
    return [strip_sequences(row).rstrip() for row in Gallery(scheme).render(width)]


async def show(terminal: Terminal, capabilities: Capabilities, env: dict[str, str]) -> None:
    """Run the gallery on a terminal until the user quits."""
    tui = TUI(terminal, env=env, capabilities=capabilities)
    visit = _Visit(tui, has_placeholders=has_placeholders(capabilities, env))
    tui.add_input_listener(visit.handle_key)
    tui.start()
    try:
        await visit.tick_until_done()
    finally:
        tui.stop()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--print", type=int, metavar="WIDTH", dest="width")
    parser.add_argument("--light", action="store_true", help="print the light one")
    options = parser.parse_args(arguments)
    if options.width or not (sys.stdin.isatty() and sys.stdout.isatty()):
        rows = frame(options.width or 80, "light" if options.light else "dark")
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
        """Handle the keys of the gallery; other keys go to the active widget."""
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


Scheme: TypeAlias = Literal["dark", "light"]

MARKDOWN = """\
# Markdown, *streamed*

Text with **bold**, `code`, ~~mistakes~~ and [a link](https://example.org); 日本語も。

1. first
2. second
   - [x] done
   - [ ] to do

| what | how it looks when there is much to say |
|:--|--:|
| a cell | 1 |
| 日本 | 22 |

> Quoted from a message.

```python
def answer() -> int:
    return 42  # of course
```
"""


@dataclass(frozen=True)
class Palette:
    """The colours of a gallery."""

    accent: str
    muted: str
    good: str
    warm: str
    panel: str


PALETTES: dict[Scheme, Palette] = {
    "dark": Palette(
        accent="#7aa2f7", muted="#8b90a5", good="#9ece6a", warm="#e0af68", panel="#24283b"
    ),
    "light": Palette(
        accent="#1d4ed8", muted="#6b7280", good="#15803d", warm="#b45309", panel="#e5e7eb"
    ),
}


class Paints:
    """The paints of a palette at a colour depth."""

    def __init__(self, palette: Palette, depth: ColourDepth) -> None:
        self.accent = painter(Style(colour=palette.accent), depth)
        self.muted = painter(Style(colour=palette.muted), depth)
        self.good = painter(Style(colour=palette.good), depth)
        self.warm = painter(Style(colour=palette.warm), depth)
        self.panel = painter(Style(background=palette.panel), depth)
        self.title = painter(Style(colour=palette.accent, bold=True), depth)


def sample_picture() -> ImageData:
    """Return a sample image."""
    # Pillow takes 20 ms to load; only this sample needs it.
    from PIL import Image as Pillow

    output = BytesIO()
    Pillow.radial_gradient("L").resize((108, 72)).save(output, "PNG")
    return picture(output.getvalue(), name="gradient.png")


def sample_boxes(paints: Paints) -> tuple[Component, ...]:
    """Return texts with backgrounds."""
    left, right = Box(1, 0, paints.panel), Box(1, 0, paints.panel)
    left.add_child(Text("Text wraps where words end, 長い文も。", 0, 0))
    right.add_child(TruncatedText("TruncatedText stays on one row, however long it is"))
    right.add_child(Text(paints.warm("👍🏽 👨‍👩‍👧 🇩🇪 e\u0301"), 0, 0))
    return left, right


def sample_waiting(paints: Paints) -> CancellableLoader:
    """Return a loader that Escape cancels."""
    loader = CancellableLoader(
        "Waiting for Escape",
        on_cancel=lambda: loader.set_message("Cancelled"),
        paint_spinner=paints.warm,
        paint_message=paints.muted,
    )
    return loader


def sample_bar(paints: Paints) -> Component:
    """Return a progress bar."""
    return ProgressBar(" Copying", 0.42, paint_done=paints.good, paint_left=paints.panel)


def sample_select(paints: Paints) -> Component:
    """Return a select list."""
    names = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta")
    return SelectList(
        [SelectItem(value=name, description=f"the letter {name}") for name in names],
        4,
        _select_theme(paints),
    )


def _select_theme(paints: Paints) -> SelectTheme:
    return SelectTheme(
        prefix=paints.accent,
        selected=paints.accent,
        description=paints.muted,
        scroll_info=paints.muted,
        no_match=paints.muted,
    )


def sample_settings(paints: Paints) -> Component:
    """Return a settings list."""
    items = [
        SettingItem(id="sound", label="Sound", current_value="on", values=("on", "off")),
        SettingItem(
            id="theme",
            label="Theme",
            current_value="dark",
            values=("dark", "light", "auto"),
            description="Auto asks the terminal.",
        ),
    ]
    return SettingsList(
        items,
        theme=SettingsTheme(
            cursor=paints.accent,
            selected=paints.accent,
            value=paints.good,
            description=paints.muted,
            hint=paints.muted,
        ),
        on_change=lambda id, value: None,
        on_cancel=lambda: None,
        is_searchable=True,
    )


def sample_input(paints: Paints) -> Component:
    """Return an input field."""
    return Input(placeholder="type here", placeholder_paint=paints.muted)


def sample_editor(paints: Paints) -> Component:
    """Return an editor with text."""
    suggestions = _select_theme(paints)
    editor = Editor(theme=EditorTheme(border=paints.accent, suggestions=suggestions))
    editor.set_text("Several lines\nof text")
    return editor


def markdown_theme(paints: Paints) -> MarkdownTheme:
    """Return the theme of the Markdown sample."""
    syntax = CodeTheme(
        keyword=paints.accent,
        string=paints.good,
        number=paints.warm,
        comment=paints.muted,
        function=paints.warm,
        type=paints.good,
    )
    return MarkdownTheme(
        heading=paints.accent,
        link=paints.accent,
        link_url=paints.muted,
        code=paints.warm,
        code_border=paints.muted,
        quote=paints.muted,
        quote_border=paints.muted,
        rule=paints.muted,
        bullet=paints.accent,
        syntax=syntax,
    )


if __name__ == "__main__":
    sys.exit(main())

"""Samples for the gallery: one of each widget, and two palettes."""

from __future__ import annotations

from io import BytesIO
from typing import Literal, TypeAlias

from pi.base.records import Record
from pi.tui.component import Component
from pi.tui.images.graphics import ImageData, picture
from pi.tui.style import ColourDepth, Style, painter
from pi.tui.widgets.editor.editor import Editor, EditorTheme
from pi.tui.widgets.input import Input
from pi.tui.widgets.loader import CancellableLoader, ProgressBar
from pi.tui.widgets.markdown.nodes import CodeTheme, MarkdownTheme
from pi.tui.widgets.select_list import SelectItem, SelectList, SelectTheme
from pi.tui.widgets.settings_list import SettingItem, SettingsList, SettingsTheme
from pi.tui.widgets.text import Box, Text, TruncatedText

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


class Palette(Record):
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
    """Returns a sample image."""
    # Pillow takes 20 ms to load; only this sample needs it.
    from PIL import Image as Pillow

    output = BytesIO()
    Pillow.radial_gradient("L").resize((108, 72)).save(output, "PNG")
    return picture(output.getvalue(), name="gradient.png")


def boxes(paints: Paints) -> tuple[Component, ...]:
    """Returns texts with backgrounds."""
    left, right = Box(1, 0, paints.panel), Box(1, 0, paints.panel)
    left.add_child(Text("Text wraps where words end, 長い文も。", 0, 0))
    right.add_child(TruncatedText("TruncatedText stays on one row, however long it is"))
    right.add_child(Text(paints.warm("👍🏽 👨‍👩‍👧 🇩🇪 e\u0301"), 0, 0))
    return left, right


def waiting(paints: Paints) -> CancellableLoader:
    """Returns a loader that Escape cancels."""
    loader = CancellableLoader(
        "Waiting for Escape",
        on_cancel=lambda: loader.set_message("Cancelled"),
        paint_spinner=paints.warm,
        paint_message=paints.muted,
    )
    return loader


def bar(paints: Paints) -> Component:
    """Returns a progress bar."""
    return ProgressBar(" Copying", 0.42, paint_done=paints.good, paint_left=paints.panel)


def select(paints: Paints) -> Component:
    """Returns a select list."""
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


def settings(paints: Paints) -> Component:
    """Returns a settings list."""
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


def input(paints: Paints) -> Component:
    """Returns an input field."""
    return Input(placeholder="type here", placeholder_paint=paints.muted)


def editor(paints: Paints) -> Component:
    """Returns an editor with text."""
    suggestions = _select_theme(paints)
    editor = Editor(theme=EditorTheme(border=paints.accent, suggestions=suggestions))
    editor.set_text("Several lines\nof text")
    return editor


def markdown_theme(paints: Paints) -> MarkdownTheme:
    """Returns the theme of the Markdown sample."""
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

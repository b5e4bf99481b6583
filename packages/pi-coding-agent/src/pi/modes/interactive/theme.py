"""The colours of the screen. Paints stay valid when the theme changes."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from pi.modes.interactive.theme_file import BACKGROUNDS, TINTS, Palette
from pi.tui.style import Colour, ColourDepth, Paint, Style, nearest_hue, painter
from pi.tui.widgets.editor.layout import EditorTheme
from pi.tui.widgets.select_list import SelectTheme

if TYPE_CHECKING:  # not needed for the first frame
    from pi.tui.fullscreen.scroll_view import ScrollTheme
    from pi.tui.widgets.markdown.nodes import CodeTheme, MarkdownTheme
    from pi.tui.widgets.settings_list import SettingsTheme

_SIXTEEN: dict[str, int | None] = {
    "accent": 4, "borderAccent": 4, "mdLink": 4, "mdListBullet": 4, "syntaxFunction": 4,
    "thinkingLow": 4, "thinkingMedium": 4,
    "success": 2, "toolDiffAdded": 2, "syntaxString": 2, "bashMode": 2,
    "error": 1, "toolDiffRemoved": 1, "thinkingMax": 1,
    "warning": 3, "mdHeading": 3, "syntaxNumber": 3,
    "mdCode": 6, "syntaxType": 6,
    "customMessageLabel": 5, "syntaxKeyword": 5, "thinkingHigh": 5, "thinkingXhigh": 5,
    "muted": None, "toolOutput": None, "toolDiffContext": None, "mdQuote": None,
    "thinkingText": None, "syntaxVariable": None, "syntaxOperator": None,
    "syntaxPunctuation": None,
}  # fmt: skip
"""Colours on terminals with sixteen colours, which users configure; all others are grey."""

_GREY = 8
_ON_DARK: dict[int | None, int] = {4: 12}
"""Replaces blue, which is hard to read on black."""
_ON_LIGHT: dict[int | None, int] = {3: 5, 6: 4}
"""Replaces yellow and cyan, which are hard to read on white."""

_PLAIN: dict[str, Style] = {
    "accent": Style(bold=True),
    "error": Style(bold=True),
    "warning": Style(bold=True),
    "mdHeading": Style(bold=True),
    "mdLink": Style(underline=True),
    "muted": Style(dim=True),
    "dim": Style(dim=True),
    "thinkingText": Style(dim=True),
    "mdLinkUrl": Style(dim=True),
    "toolDiffRemoved": Style(dim=True),
    "toolDiffAdded": Style(bold=True),
}
"""Attributes that replace colours on terminals without any."""

_INVERSE = frozenset({"selectedBg", "searchMatchBg"})
"""Backgrounds with a meaning: without enough colours they are shown inverted."""


class Theme:
    """The current colours. ``paint`` returns functions that follow every change.

    Components with cached rows must be invalidated after ``use``: see ``Component.invalidate``.
    """

    def __init__(self, palette: Palette, depth: ColourDepth = ColourDepth.TRUE) -> None:
        self.palette = palette
        self.depth = depth
        self.code_indent = "  "
        """Prefix of every line of code in a text."""
        self._paints: dict[tuple[str, Style], Paint] = {}
        """The paints that callers hold. They follow a change of the theme."""
        self._painters: dict[tuple[str, Style], Paint] = {}
        """The paints of the current theme, which the others call."""

    def use(self, palette: Palette, depth: ColourDepth | None = None) -> None:
        """Set the theme."""
        self.palette = palette
        self.depth = self.depth if depth is None else depth
        self._painters.clear()

    def paint(
        self,
        token: str,
        *,
        bold: bool = False,
        italic: bool = False,
        dim: bool = False,
        underline: bool = False,
        inverse: bool = False,
        strike: bool = False,
    ) -> Paint:
        """Return a paint for a token of the theme, with additional attributes."""
        style = Style(
            bold=bold, italic=italic, dim=dim, underline=underline, inverse=inverse, strike=strike
        )
        key = (token, style)
        if key not in self._paints:
            self._paints[key] = lambda text: self._current(key)(text)
        return self._paints[key]

    @property
    def has_backgrounds(self) -> bool:
        """Whether there are enough colours for subtle backgrounds."""
        return self.depth > ColourDepth.BASIC

    @cached_property
    def bold(self) -> Paint:
        """Bold in the terminal's own colour."""
        return painter(Style(bold=True))

    @cached_property
    def heading(self) -> Paint:
        """The heading of a dialog, a page or a group of rows."""
        return self.paint("accent", bold=True)

    @cached_property
    def select(self) -> SelectTheme:
        """Style of selection lists."""
        return SelectTheme(
            prefix=self.paint("accent"),
            selected=self.paint("accent"),
            description=self.paint("muted"),
            scroll_info=self.paint("dim"),
            no_match=self.paint("muted"),
        )

    @cached_property
    def settings(self) -> SettingsTheme:
        """Style of settings lists."""
        from pi.tui.widgets.settings_list import SettingsTheme

        return SettingsTheme(
            cursor=self.paint("accent"),
            selected=self.paint("accent"),
            value=self.paint("muted"),
            description=self.paint("muted"),
            hint=self.paint("dim"),
            heading=self.heading,
        )

    @cached_property
    def editor(self) -> EditorTheme:
        """Style of the editor; its border colour is set separately."""
        return EditorTheme(
            border=self.paint("borderMuted"),
            placeholder=self.paint("dim"),
            suggestions=self.select,
        )

    @cached_property
    def scrolling(self) -> ScrollTheme:
        """Style of scroll bars."""
        from pi.tui.fullscreen.scroll_view import ScrollTheme

        background, text = self.paint("searchMatchBg"), self.paint("searchMatchText")
        return ScrollTheme(
            track=self.paint("scrollbarTrack"),
            thumb=self.paint("scrollbarThumb"),
            selection=self.paint("selectedBg"),
            match=lambda matched: background(text(matched)),
        )

    @cached_property
    def code(self) -> CodeTheme:
        """Style of source code."""
        from pi.tui.widgets.markdown.nodes import CodeTheme

        return CodeTheme(
            comment=self.paint("syntaxComment"),
            keyword=self.paint("syntaxKeyword"),
            function=self.paint("syntaxFunction"),
            variable=self.paint("syntaxVariable"),
            string=self.paint("syntaxString"),
            number=self.paint("syntaxNumber"),
            type=self.paint("syntaxType"),
            operator=self.paint("syntaxOperator"),
            punctuation=self.paint("syntaxPunctuation"),
            inserted=self.paint("toolDiffAdded"),
            deleted=self.paint("toolDiffRemoved"),
        )

    @cached_property
    def markdown(self) -> MarkdownTheme:
        """Markdown style of answers."""
        return self.markdown_in("text")

    @cached_property
    def thinking(self) -> MarkdownTheme:
        """Markdown style of thinking: the same, dimmed."""
        return self.markdown_in("thinkingText", italic=True)

    def markdown_in(self, token: str, *, italic: bool = False) -> MarkdownTheme:
        """Markdown style whose plain text has the colour of ``token``."""
        from pi.tui.widgets.markdown.nodes import MarkdownTheme

        return MarkdownTheme(
            text=self.paint(token, italic=italic),
            heading=self.paint("mdHeading", bold=True),
            link=self.paint("mdLink"),
            link_url=self.paint("mdLinkUrl"),
            code=self._inline_code,
            code_block=self.paint("mdCodeBlock"),
            code_border=self.paint("mdCodeBlockBorder"),
            quote=self.paint("mdQuote", italic=True),
            quote_border=self.paint("mdQuoteBorder"),
            rule=self.paint("mdHr"),
            bullet=self.paint("mdListBullet"),
            syntax=self.code,
            code_indent=lambda: self.code_indent,
        )

    def _inline_code(self, text: str) -> str:
        """Inline code; without colours its backticks stay visible."""
        painted = self.paint("mdCode")(text)
        return f"`{painted}`" if self.depth == ColourDepth.NONE else painted

    def _current(self, key: tuple[str, Style]) -> Paint:
        if key not in self._painters:
            token, attributes = key
            self._painters[key] = painter(_join_styles(self._style(token), attributes), self.depth)
        return self._painters[key]

    @property
    def _is_dark(self) -> bool:
        """Whether the theme is made for dark terminals, by the background of user messages."""
        if self.palette.appearance is not None:
            return self.palette.appearance == "dark"
        background = self.palette.colours.get("userMessageBg")
        return not isinstance(background, str) or sum(bytes.fromhex(background[1:])) < 3 * 128

    def _style(self, token: str) -> Style:
        colour = self.palette.colours.get(token)
        if token in BACKGROUNDS:
            if self.has_backgrounds and colour is not None:
                is_tint = token in TINTS and self.depth == ColourDepth.PALETTE
                if is_tint and isinstance(colour, str):
                    red, green, blue = bytes.fromhex(colour[1:])
                    colour = nearest_hue((red, green, blue))
                return Style(background=colour)
            return Style(inverse=token in _INVERSE)
        if self.depth == ColourDepth.NONE:
            return _PLAIN.get(token, Style())
        if self.depth == ColourDepth.BASIC:
            return Style(colour=_of_sixteen(token, colour, on_dark=self._is_dark))
        return Style(colour=colour)


def _of_sixteen(token: str, colour: Colour | None, *, on_dark: bool) -> Colour | None:
    """Return one of sixteen colours by the meaning of the token, not by its shade."""
    if colour is None or (isinstance(colour, int) and colour < 16):
        return colour
    chosen = _SIXTEEN.get(token, _GREY)
    return (_ON_DARK if on_dark else _ON_LIGHT).get(chosen, chosen)


def _join_styles(base: Style, more: Style) -> Style:
    return Style(
        colour=base.colour,
        background=base.background,
        inverse=base.inverse or more.inverse,
        bold=base.bold or more.bold,
        dim=base.dim or more.dim,
        italic=base.italic or more.italic,
        underline=base.underline or more.underline,
        strike=base.strike or more.strike,
    )

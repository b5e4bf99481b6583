"""A terminal's screen as a picture: text that can be searched and scaled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple
from xml.sax.saxutils import escape, quoteattr

CELL_WIDTH, CELL_HEIGHT, MARGIN = 8.4, 18, 12
BACKGROUND, FOREGROUND = "#1e1e2e", "#cdd6f4"
LIGHT_BACKGROUND, LIGHT_FOREGROUND = "#fbfbfd", "#1f2328"
BASIC = (
    *("#45475a", "#f38ba8", "#a6e3a1", "#f9e2af", "#89b4fa", "#f5c2e7", "#94e2d5", "#bac2de"),
    *("#585b70", "#f38ba8", "#a6e3a1", "#f9e2af", "#89b4fa", "#f5c2e7", "#94e2d5", "#a6adc8"),
)
"""The sixteen basic colours, which every terminal defines itself."""
STEPS = (0, 95, 135, 175, 215, 255)
"""The brightness of the steps of the 6 × 6 × 6 cube."""


class Cell(NamedTuple):
    """One cell of the screen; the cell after a wide character is empty."""

    text: str
    style: dict[str, Any]
    """As ``VirtualTerminal.style`` returns it."""


class Look(NamedTuple):
    """The part of a style that is drawn."""

    ink: str
    paper: str
    bold: bool
    italic: bool
    underline: bool
    strike: bool


class Paper(NamedTuple):
    """The default colours of a terminal."""

    background: str = BACKGROUND
    foreground: str = FOREGROUND


DARK = Paper()
LIGHT = Paper(LIGHT_BACKGROUND, LIGHT_FOREGROUND)


def picture(rows: Sequence[Sequence[Cell]], *, title: str, paper: Paper = DARK) -> str:
    """The screen as SVG."""
    columns = max((len(row) for row in rows), default=0)
    width = round(columns * CELL_WIDTH + 2 * MARGIN)
    height = len(rows) * CELL_HEIGHT + 2 * MARGIN
    drawn = "\n".join(line for number, row in enumerate(rows) for line in _row(row, number, paper))
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" \
viewBox="0 0 {width} {height}" font-family="monospace" font-size="14" role="img" \
aria-label={quoteattr(title)}>
<title>{escape(title)}</title>
<rect width="{width}" height="{height}" rx="8" fill="{paper.background}"/>
{drawn}
</svg>
"""


class Frame(NamedTuple):
    """The screen at one moment of a recording."""

    seconds: float
    """How long it is shown."""
    rows: Sequence[Sequence[Cell]]


def recording(frames: Sequence[Frame], *, title: str) -> str:
    """The frames as an animated SVG. Rows that frames share are stored once.

    Where animations are switched off, the last frame is shown.
    """
    columns = max((len(row) for frame in frames for row in frame.rows), default=0)
    width = round(columns * CELL_WIDTH + 2 * MARGIN)
    height = max((len(frame.rows) for frame in frames), default=0) * CELL_HEIGHT + 2 * MARGIN
    total = sum(frame.seconds for frame in frames)
    stored: dict[str, str] = {}
    styles, shown, begin = [], [], 0.0
    for number, frame in enumerate(frames):
        end = begin + frame.seconds
        last = number == len(frames) - 1
        hidden_again = "" if last else f"{end / total:.3%}{{opacity:0}}"
        styles.append(f"@keyframes f{number}{{0%{{opacity:0}}{begin / total:.3%}{{opacity:1}}")
        styles[-1] += (
            f"{hidden_again}}}#f{number}{{animation:f{number} {total:g}s step-end infinite}}"
        )
        uses = []
        for place, row in enumerate(frame.rows):
            if drawn := "".join(_row(row, 0)):
                name = stored.setdefault(drawn, f"r{len(stored)}")
                uses.append(f'<use href="#{name}" y="{place * CELL_HEIGHT}"/>')
        shown.append(f'<g id="f{number}" opacity="{int(last)}">{"".join(uses)}</g>')
        begin = end
    rows = "\n".join(f'<g id="{name}">{drawn}</g>' for drawn, name in stored.items())
    return f"""\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" \
viewBox="0 0 {width} {height}" font-family="monospace" font-size="14" role="img" \
aria-label={quoteattr(title)}>
<title>{escape(title)}</title>
<style>{"".join(styles)}</style>
<defs>
{rows}
</defs>
<rect width="{width}" height="{height}" rx="8" fill="{BACKGROUND}"/>
{chr(10).join(shown)}
</svg>
"""


def colour(value: tuple[str, Any] | None, otherwise: str) -> str:
    """A colour of the terminal as ``#rrggbb``."""
    match value:
        case ("rgb", (red, green, blue)):
            return f"#{red:02x}{green:02x}{blue:02x}"
        case ("palette", int(number)):
            return _palette(number)
        case _:
            return otherwise


def _palette(number: int) -> str:
    if number < len(BASIC):
        return BASIC[number]
    if number >= 232:
        grey = 8 + 10 * (number - 232)
        return f"#{grey:02x}{grey:02x}{grey:02x}"
    cube = number - len(BASIC)
    red, green, blue = (STEPS[cube // place % 6] for place in (36, 6, 1))
    return f"#{red:02x}{green:02x}{blue:02x}"


def look(cell: Cell, paper: Paper = DARK) -> Look:
    """How a cell is drawn on a terminal with these colours."""
    style = cell.style
    ink, background = colour(style["fg"], paper.foreground), colour(style["bg"], paper.background)
    if style["inverse"]:
        ink, background = background, ink
    return Look(
        ink=ink,
        paper=background,
        bold=style["bold"],
        italic=style["italic"],
        underline=bool(style["underline"]),
        strike=style["strikethrough"],
    )


def _row(row: Sequence[Cell], number: int, paper: Paper = DARK) -> Iterator[str]:
    column, top = 0, MARGIN + number * CELL_HEIGHT
    for style, run in groupby(row, key=lambda cell: look(cell, paper)):
        cells = list(run)
        left, width = MARGIN + column * CELL_WIDTH, len(cells) * CELL_WIDTH
        column += len(cells)
        if style.paper != paper.background:
            yield (
                f'<rect x="{left:g}" y="{top}" width="{width:g}" height="{CELL_HEIGHT}" '
                f'fill="{style.paper}"/>'
            )
        text = "".join(cell.text for cell in cells)
        if text.strip():
            yield (
                f'<text x="{left:g}" y="{top + 13}" textLength="{width:g}" xml:space="preserve" '
                f"{_attributes(style)}>{escape(text)}</text>"
            )


def _attributes(style: Look) -> str:
    lines = [
        name
        for name, is_set in (("underline", style.underline), ("line-through", style.strike))
        if is_set
    ]
    attributes = [f'fill="{style.ink}"']
    if style.bold:
        attributes.append('font-weight="bold"')
    if style.italic:
        attributes.append('font-style="italic"')
    if lines:
        attributes.append(f'text-decoration="{" ".join(lines)}"')
    return " ".join(attributes)

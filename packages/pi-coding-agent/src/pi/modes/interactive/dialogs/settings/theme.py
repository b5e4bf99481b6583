"""Dialog to choose a theme, with a sample."""

from __future__ import annotations

from collections.abc import Callable

from pi.base.fuzzy import rank
from pi.base.records import Record
from pi.base.terminal_text import one_line
from pi.modes.interactive.dialogs.panel import list_rows, make_panel
from pi.modes.interactive.dialogs.picker import Picker
from pi.modes.interactive.dialogs.questions import CHOOSING
from pi.modes.interactive.theme import Theme
from pi.modes.interactive.ui import Ui, report_errors
from pi.tui.component import Component
from pi.tui.text.width import pad_to_width, truncate_to_width


class PickedTheme(Record):
    """The new value of the setting; no name follows the terminal."""

    name: str | None


FOLLOW = PickedTheme(name=None)


async def pick_theme(ui: Ui) -> PickedTheme | None:
    """Return the theme that the user chooses; on cancel the old one is restored."""
    before = ui.port.settings.values.theme
    offered = [FOLLOW, *(PickedTheme(name=name) for name in theme_names(ui))]

    def draw(theme: PickedTheme, width: int, *, selected: bool) -> str:
        text = one_line(_theme_label(theme)) + ("  (now)" if theme.name == before else "")
        return ui.theme.paint("accent")(text) if selected else text

    def build(done: Callable[[PickedTheme | None], None]) -> Component:
        inside = Picker(
            ui.theme,
            ui.keymap,
            find=lambda query: rank(query, offered, key=_theme_label),
            draw=draw,
            rows=lambda: list_rows(ui, more=_SAMPLE_ROWS if ui.rows >= _FOR_SAMPLE else 0),
            on_pick=done,
            on_cancel=lambda: done(None),
            on_move=lambda theme: preview_theme(ui, theme.name),
            foot=lambda width: (
                ["", *theme_sample(ui.theme, width)] if ui.rows >= _FOR_SAMPLE else []
            ),
        )
        inside.select(lambda theme: theme.name == before)
        return make_panel(ui, "Theme", inside, lambda: CHOOSING)

    picked: PickedTheme | None = None
    try:
        picked = await ui.show(build)
        return picked
    finally:
        if picked is None:
            preview_theme(ui, before)


_NEUTRAL = ("dark", "light")
_SAMPLE_ROWS, _FOR_SAMPLE = 9, 30
"""Rows of the sample, and the height of the screen from which it is shown."""


def theme_names(ui: Ui) -> list[str]:
    """Return all themes, the neutral ones first."""
    return sorted(ui.themes.names, key=lambda name: (name not in _NEUTRAL, name))


def theme_sample(theme: Theme, width: int) -> list[str]:
    """A few rows in the current theme: a message, Markdown, code, a diff, and three states."""
    paint = theme.paint
    keyword, name = paint("syntaxKeyword")("def"), paint("syntaxFunction")("greet")
    text = paint("syntaxString")('"hello"')
    comment = paint("syntaxComment")("# says it")
    rows = [
        paint("userMessageBg")(pad_to_width(f"{paint('accent')('▌')} What you write", width)),
        f"{paint('mdHeading', bold=True)('Heading')}  {paint('mdLink')('link')}  "
        f"{paint('mdCode')('code')}  {paint('muted')('muted')}  {paint('dim')('dim')}",
        f"{keyword} {name}(): {paint('syntaxKeyword')('return')} {text}  {comment}",
        paint("toolDiffRemovedBg")(
            pad_to_width(paint("toolDiffRemoved")("- a removed line"), width)
        ),
        paint("toolDiffAddedBg")(pad_to_width(paint("toolDiffAdded")("+ an added line"), width)),
        f"{paint('success')('✓ done')}  {paint('warning')('! take care')}  "
        f"{paint('error')('✗ failed')}",
    ]
    return [truncate_to_width(row, width, "…") for row in rows]


def _theme_label(theme: PickedTheme) -> str:
    return theme.name or "follow the terminal"


def preview_theme(ui: Ui, name: str | None) -> None:
    """Use a theme until the dialog is closed."""
    with report_errors(ui):
        ui.themes.use(name)

"""Dialogs and overlays of extensions on a usual and on a small screen."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.screens.extended_app import extended
from tests.screens.snapshots import check

ASKING = """
class Card:
    def __init__(self, theme, done):
        self.theme, self.done = theme, done

    def render(self, width):
        line = "─" * (width - 2)
        return [f"╭{line}╮", f"│{' A card'.ljust(width - 2)}│", f"╰{line}╯"]

    def handle_input(self, data):
        self.done(None)

KINDS = {
    "select": lambda ui: ui.select(
        "Which fruit?", [Option(label="apple", description="is red"), "pear", *map(str, range(9))]
    ),
    "confirm": lambda ui: ui.confirm("Delete the folder build?", "It has 2,000 files in it."),
    "input": lambda ui: ui.input("Your name?", "Ada"),
    "secret": lambda ui: ui.input("Your key?", secret=True),
    "editor": lambda ui: ui.editor("Your story?", "Once upon\\na time"),
    "custom": lambda ui: ui.custom(lambda tui, theme, keys, done: Card(theme, done)),
    "overlay": lambda ui: ui.custom(
        lambda tui, theme, keys, done: Card(theme, done),
        overlay=True,
        overlay_options={"width": "50%", "anchor": "top-right"},
    ),
}

@pi.command("ask")
async def ask(kind, ctx):
    await KINDS[kind](ctx.ui)
    ctx.ui.notify(f"{kind} is over")
"""
SHOWN = {
    "select": "pear",
    "confirm": "2,000 files",
    "input": "Your name?",
    "secret": "Your key?",
    "editor": "a time",
    "custom": "A card",
    "overlay": "A card",
}


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (40, 12)])
async def test_extension_dialogs_match_their_snapshots(
    tmp_path: Path, columns: int, rows: int
) -> None:
    screens = []
    async with extended(tmp_path, ASKING, columns=columns, rows=rows).running() as app_fixture:
        for kind, shown in SHOWN.items():
            app_fixture.send(f"/ask {kind}")
            await app_fixture.sees(shown)
            await app_fixture.quiet()
            screens.append(f"== {kind}\n{app_fixture.screen}")
            app_fixture.type("\x1b")
            await app_fixture.sees(f"{kind} is over")
    check(f"extension-questions-{columns}", "\n".join(screens))

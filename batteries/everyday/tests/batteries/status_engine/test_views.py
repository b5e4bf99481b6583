from __future__ import annotations

import os
from itertools import product
from pathlib import Path

import pytest

from pi.batteries.status_engine.config import StatusEngineConfig
from pi.batteries.status_engine.engine import StatusEngine, StatusOutput
from pi.batteries.status_engine.items import GitState, styled_line
from pi.batteries.status_engine.views import TYPESETTING, StatusRows
from pi.coding.port.drawing import PlainTheme
from pi.extension import replace
from tests.batteries.status_engine.samples import FULL, GIT

SNAPSHOTS = Path(__file__).with_name("snapshots")
WIDTHS = {"narrow": 40, "medium": 80, "wide": 120}


class Brackets(PlainTheme):
    """A theme that shows where it paints."""

    def __init__(self, name: str = "") -> None:
        self.name = name

    def fg(self, name: str, text: str) -> str:
        return f"<{self.name}{name}>{text}"


class Plain(Brackets):
    """A theme without colours."""

    def fg(self, name: str, text: str) -> str:
        return text


GITS = {"no git": GitState(), "a branch": GitState(branch="main"), "git": GIT}
LINES = {"no line 3": None, "line 3": "\x1b[32mnetwork\x1b[0m 12 ms · proxy ok · " + "x" * 70}


def drawn(output: StatusOutput, width: int, theme: Brackets) -> list[str]:
    return StatusRows(lambda columns: output, lambda: theme).render(width)


@pytest.mark.parametrize("name", WIDTHS)
def test_the_rows_match_the_snapshot(name: str) -> None:
    width, rows_text = WIDTHS[name], []
    engine = StatusEngine(StatusEngineConfig(), text=TYPESETTING)

    for (state_name, git), (third, line3) in product(GITS.items(), LINES.items()):
        engine.set_state(replace(FULL, git=git))
        output = replace(engine.tick(0.0, width), line3=line3)
        rows = drawn(output, width, Plain())
        assert all(TYPESETTING.width(row) <= width for row in rows)
        rows_text += [f"# {state_name}, {third}", *(row.replace("\x1b", "␛") for row in rows), ""]

    check(name, "\n".join(rows_text))


def check(name: str, text: str) -> None:
    """Compare with the snapshot; ``WRITE_SNAPSHOTS=1`` rewrites it."""
    path = SNAPSHOTS / f"{name}.txt"
    if os.environ.get("WRITE_SNAPSHOTS"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def test_lines_without_colours_are_dim() -> None:
    outputs = [
        StatusOutput(line2="two", line3="three"),
        StatusOutput(line2="two", line3="\x1b[31mthree\x1b[0m"),
        StatusOutput(line3="three"),
        StatusOutput(),
    ]

    rows = [drawn(output, 80, Brackets()) for output in outputs]

    assert rows == [
        ["<dim>two", "<dim>three"],
        ["<dim>two", "\x1b[31mthree\x1b[0m"],
        ["<dim>three"],
        [],
    ]


def test_rows_are_cached_until_the_output_changes() -> None:
    outputs = [StatusOutput(line2="one")]
    rows = StatusRows(lambda width: outputs[-1], Brackets)

    first = rows.render(80)
    same = rows.render(80)
    outputs.append(StatusOutput(line2="two"))

    assert same is first
    assert rows.is_stale()
    assert rows.render(80) == ["<dim>two"]
    assert not rows.is_stale()


def test_rows_are_not_stale_before_the_first_render() -> None:
    rows = StatusRows(lambda width: StatusOutput(line2="one"), Brackets)

    assert not rows.is_stale()


def test_a_theme_change_repaints_the_rows() -> None:
    themes = [Brackets()]
    rows = StatusRows(lambda width: StatusOutput(line2="one"), lambda: themes[-1])

    before = rows.render(80)
    themes.append(Brackets("light-"))
    rows.invalidate()

    assert (before, rows.render(80)) == (["<dim>one"], ["<light-dim>one"])


def test_a_line_keeps_colours_and_loses_other_control_sequences() -> None:
    text = "\x1b[1;31mhot\x1b[0m\x1b[2J\x1b]8;;http://x\x07link\x1b]8;;\x07 \u202eend \rmore"

    assert styled_line(text) == "\x1b[1;31mhot\x1b[0mlink end"
    assert TYPESETTING.plain(text) == "hotlink end more"

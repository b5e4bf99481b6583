"""Diagrams in answers: as large as the screen allows, else their source."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.batteries.diagrams import views
from pi.coding.port.drawing import PlainTheme
from pi.extension import CodeView, ViewOptions
from pi.tui.text.ansi import strip_sequences
from pi.tui.text.width import visible_width
from pi.tui.widgets.markdown.widget import Markdown
from tests.batteries.diagrams.samples import DIAGRAMS
from tests.tui.widgets.markdown.sources import chunks, cuts

SNAPSHOTS = Path(__file__).parent / "snapshots"
WIDTHS = (40, 80, 120)

pytest.importorskip("mermaid_term")


class Drawn:
    """The battery as the transcript calls it."""

    def __init__(self) -> None:
        self.calls = count()

    def draws(self, language: str) -> bool:
        return language == "mermaid"

    def rows(self, language: str, text: str, width: int, *, is_open: bool) -> list[str] | None:
        next(self.calls)
        code = CodeView(language=language, text=text, is_open=is_open)
        diagram = views.mermaid(code, ViewOptions(), PlainTheme())
        return None if diagram is None else diagram.render(width)


def page(width: int) -> str:
    """All diagrams as an answer of that width shows them."""
    sections = []
    for number, source in enumerate(DIAGRAMS, 1):
        widget = Markdown(f"```mermaid\n{source}```\n", 0, 0, code_views=Drawn())
        rows = (strip_sequences(row).rstrip() for row in widget.render(width))
        sections.append("\n".join((f"## {number}", *rows)))
    return "\n".join(sections) + "\n"


@pytest.mark.parametrize("width", WIDTHS)
def test_sixty_diagrams_match_their_snapshots(width: int) -> None:
    assert len(DIAGRAMS) == 60
    assert page(width) == (SNAPSHOTS / f"{width}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("width", WIDTHS)
def test_no_row_is_wider_than_the_screen(width: int) -> None:
    assert all(visible_width(row) <= width for row in page(width).split("\n"))


@pytest.mark.parametrize(
    "source",
    [
        'pie title Pets\n  "Dogs" : 3',
        "not a diagram at all",
        "flowchart TD\n" + "  A --> B\n" * (views.MAX_LINES + 1),
        f"flowchart TD\n  A[{'x' * views.MAX_CHARACTERS}] --> B",
    ],
)
def test_unsupported_diagrams_are_shown_as_source(source: str) -> None:
    widget = Markdown(f"```mermaid\n{source}\n```", 0, 0, code_views=Drawn())

    assert [strip_sequences(row).strip() for row in widget.render(200)][:2] == [
        "mermaid",
        source.split("\n")[0],
    ]


def test_a_truncated_diagram_is_shown_as_source() -> None:
    code = CodeView(language="mermaid", text="flowchart TD\n A --> B", is_open=True)

    assert views.mermaid(code, ViewOptions(), PlainTheme()) is None


def test_labels_cannot_control_the_terminal() -> None:
    for escape in ("\x1b[2J", "&#27;[2J", "#27;[2J", "\x9b2J", "\x07"):
        rows = Drawn().rows("mermaid", f"graph LR\nA[{escape}x]-->B", 80, is_open=False)
        assert rows is not None
        assert not {"\x1b", "\x9b", "\x07"} & {*"".join(rows)}


sources = st.lists(
    st.one_of(
        st.sampled_from(DIAGRAMS[:12]).map(lambda source: f"```mermaid\n{source}```"),
        st.sampled_from(DIAGRAMS[50:]).map(lambda source: f"```mermaid\n{source}"),
        st.sampled_from(
            [
                "Some words that go on for longer than one row of a narrow screen.",
                "- item\n\n  ```mermaid\n  graph LR\n  A-->B\n  ```\n- other",
                "$$\\sum_{i=1}^n \\frac{i}{2}$$",
                "\\[\\begin{matrix} a & b \\\\ c & d \\end{matrix}\\]",
                "and $$x = \\sqrt{\\frac{a}{b}}$$ inside of a text",
                "```py\nx = 1\n```",
            ]
        ),
    ),
    max_size=5,
).map("\n\n".join)


@pytest.mark.behaviour("committed-rows-are-final")
@given(sources, cuts, st.lists(st.integers(20, 90), min_size=1, max_size=3))
def test_settled_rows_never_change_over_chunks_and_resizes(
    source: str, lengths: list[int], columns: list[int]
) -> None:
    widget = Markdown(is_streaming=True, draws_formulas=True, code_views=Drawn())
    settled: dict[int, list[str]] = {}

    def check(width: int) -> None:
        rows = [strip_sequences(row) for row in widget.render(width)]
        before = settled.get(width, [])
        assert rows[: len(before)] == before
        settled[width] = rows[: widget.settled_end]

    for number, part in enumerate(chunks(source, [4 * length for length in lengths])):
        widget.append(part)
        check(columns[number % len(columns)])
    widget.finish()
    for width in columns:
        check(width)


if __name__ == "__main__":
    for columns in WIDTHS:
        (SNAPSHOTS / f"{columns}.txt").write_text(page(columns), encoding="utf-8")

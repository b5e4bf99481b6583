from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.tui.text.ansi import strip_sequences
from pi.tui.text.width import visible_width
from pi.tui.widgets.markdown.formula_layout import lay_out
from pi.tui.widgets.markdown.formulas import display, formula, parse_latex
from pi.tui.widgets.markdown.latex_nodes import NotUnderstood
from pi.tui.widgets.markdown.widget import Markdown
from tests.tui.widgets.markdown.formula_samples import FORMULAS


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        (r"\alpha \le \beta", "α ≤ β"),
        (r"x^2 + y_1^{10}", "x² + y₁¹⁰"),
        (r"e^{i\pi} + 1 = 0", "e^(iπ) + 1 = 0"),
        (r"\frac{a+b}{2}", "(a+b)/2"),
        (r"\frac12", "1/2"),
        (r"\sqrt{x} + \sqrt[3]{x+1}", "√x + ³√(x+1)"),
        (r"\sum_{i=1}^{n} i", "∑ᵢ₌₁ⁿ i"),
        (r"\int_0^\infty e^{-x^2}\,dx", "∫₀^∞ e^(-x²) dx"),
        (r"\mathbb{R}^n \to \mathbb{C}", "ℝⁿ → ℂ"),
        (r"\left( \sin\theta \right)", "(sin θ)"),
        (r"\log_2 n + \lim_{x \to 0} \cos x", "log₂ n + lim_(x → 0) cos x"),
        (r"\hat{y} = \vec{w} \cdot x", "y\u0302 = w\u20d7 · x"),
        (r"\text{if } x \in \{1, 2\}", "if x ∈ {1, 2}"),
        ("a^2\n  + b", "a² + b"),
    ],
)
def test_a_formula_is_shown_as_characters(source: str, shown: str) -> None:
    assert formula(source) == shown


@pytest.mark.parametrize("source", ["5 and ", "HOME/bin:", "a_b", "x", ""])
def test_ambiguous_text_is_not_a_formula(source: str) -> None:
    assert formula(source) is None


@pytest.mark.parametrize(
    "source",
    [r"\begin{matrix}a\end{matrix}", r"\unheard{x}", r"\frac{a}", "x^", "^{", "a^2}", r"x^2 \\ y"],
)
def test_an_unsupported_or_malformed_formula_is_not_converted(source: str) -> None:
    assert formula(source) is None


@given(st.text(r"\ab{}^_[] ", max_size=30) | st.text(max_size=30))
def test_no_formula_source_raises(source: str) -> None:
    shown = formula(rf"\pi {source}")

    assert shown is None or shown.startswith("π")


@pytest.mark.parametrize("source", ["{" * 5000 + "x^2" + "}" * 5000, "x" + "^" * 5000 + "2"])
def test_deeply_nested_formulas_are_not_converted(source: str) -> None:
    assert formula(source) is None


SNAPSHOTS = Path(__file__).parent / "formula_snapshots"
WIDTHS = (40, 80, 120)


def page(width: int) -> str:
    """Returns all formulas drawn at a width, as display formulas and inline."""
    shown = []
    for number, source in enumerate(FORMULAS, 1):
        text = f"$$\n{source}\n$$\n\nIn a line: ${source}$"
        rows = Markdown(text, 0, 0, draws_formulas=True).render(width)
        shown.append("\n".join((f"## {number}", *(strip_sequences(row).rstrip() for row in rows))))
    return "\n".join(shown) + "\n"


@pytest.mark.parametrize("width", WIDTHS)
def test_forty_formulas_match_their_snapshots(width: int) -> None:
    assert len(FORMULAS) == 40
    assert page(width) == (SNAPSHOTS / f"{width}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("source", FORMULAS)
def test_each_sample_formula_is_drawn_without_latex_commands(source: str) -> None:
    drawn = display(source)

    assert drawn is not None
    assert all("\\" not in row for row in (*drawn.rows, drawn.text))


pieces = st.sampled_from(
    [
        *(r"\frac", r"\sqrt", r"\sum", r"\int", r"\left(", r"\right)", r"\left\{", r"\right."),
        *(r"\begin{matrix}", r"\end{matrix}", r"\begin{cases}", r"\end{cases}", "&", r"\\"),
        *("{", "}", "^", "_", "x", "12", "+", "=", " ", r"\hat", r"\text{a b}", r"\alpha", "中"),
        *(r"\underbrace", r"\boxed", r"\binom", r"\lim", r"\,", "[3]", r"\overset", r"\not", "-"),
    ]
)


@given(st.lists(pieces, max_size=25).map("".join))
def test_drawing_a_display_formula_never_raises_and_boxes_are_rectangular(source: str) -> None:
    try:
        node = parse_latex(source)
    except NotUnderstood:
        return
    box = lay_out(node)
    assert {visible_width(row) for row in box.rows} == {box.width}
    assert 0 <= box.base < len(box.rows)
    display(source)
    formula(source)


def test_a_display_formula_inside_of_a_text_stays_in_its_line() -> None:
    rows = Markdown(r"so $$\frac{a}{b}$$ is", 0, 0, draws_formulas=True).render(40)

    assert [strip_sequences(row).rstrip() for row in rows] == ["so a/b is"]


@pytest.mark.parametrize("source", ["$$\n%s\n$$", "\\[%s\\]", "\\[\n%s\n\\]", "$$%s$$"])
def test_every_notation_of_a_display_formula_is_drawn(source: str) -> None:
    text = "Before\n" + source % r"\frac{a}{b}" + "\nafter"
    rows = Markdown(text, 0, 0, draws_formulas=True).render(40)

    shown = [strip_sequences(row).rstrip() for row in rows]
    assert shown == ["Before", "  a", "  ─", "  b", "after"]


@pytest.mark.parametrize("source", ["$$ and $$", "kill $$; echo $$", "$$x$$"])
def test_dollar_signs_without_a_formula_are_kept_as_text(source: str) -> None:
    rows = Markdown(source, 0, 0, draws_formulas=True).render(40)

    assert [strip_sequences(row).rstrip() for row in rows] == [source]


if __name__ == "__main__":
    for columns in WIDTHS:
        (SNAPSHOTS / f"{columns}.txt").write_text(page(columns), encoding="utf-8")

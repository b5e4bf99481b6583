from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi.tui.widgets.markdown.formulas import formula


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
        (r"\left( \sin\theta \right)", "( sin θ )"),
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
def test_a_formula_beyond_one_line_is_shown_as_source(source: str) -> None:
    assert formula(source) is None


@given(st.text(r"\ab{}^_[] ", max_size=30) | st.text(max_size=30))
def test_no_formula_source_raises(source: str) -> None:
    shown = formula(rf"\pi {source}")

    assert shown is None or shown.startswith("π")


@pytest.mark.parametrize("source", ["{" * 5000 + "x^2" + "}" * 5000, "x" + "^" * 5000 + "2"])
def test_deeply_nested_formulas_are_shown_as_source(source: str) -> None:
    assert formula(source) is None

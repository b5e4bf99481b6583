"""The nodes of a LaTeX formula, and the symbols and constructions that have a name."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias


class NotUnderstood(Exception):
    """The formula is invalid, or contains something that is not supported."""


Kind: TypeAlias = Literal["letter", "big", "word", "relation", "operator", "text", "space", "blank"]
"""``blank`` is white space of the source, shown only in one line; ``big`` is a sum or the like."""


class Symbol(NamedTuple):
    """Characters."""

    text: str
    kind: Kind = "letter"
    has_limits: bool = False
    """Whether scripts are set below and above it in a display."""


class NodeRow(NamedTuple):
    """Nodes side by side."""

    items: tuple[Node, ...]


class Fraction(NamedTuple):
    """One node over another."""

    top: Node
    bottom: Node
    has_line: bool = True


class Root(NamedTuple):
    """A root."""

    inside: Node
    degree: Node | None = None


class Scripts(NamedTuple):
    """A base with a subscript, a superscript, or both."""

    base: Node
    lower: Node | None = None
    upper: Node | None = None
    has_limits: bool = False


class Accent(NamedTuple):
    """A combining mark on every character of a node."""

    inside: Node
    mark: str


class Fenced(NamedTuple):
    """A node between delimiters as high as it is."""

    left: str
    inside: Node
    right: str


class Brace(NamedTuple):
    """A brace below or above a node."""

    inside: Node
    is_below: bool


class Boxed(NamedTuple):
    """A node in a frame."""

    inside: Node


class Grid(NamedTuple):
    """Cells in rows and columns."""

    rows: tuple[tuple[Node, ...], ...]
    alignments: str
    """``l``, ``c`` or ``r`` for each column; the last ones repeat."""
    gaps: str
    """For each column, whether a gap follows it (`` ``) or not (``.``); the last ones repeat."""


Node: TypeAlias = (
    Symbol | NodeRow | Fraction | Root | Scripts | Accent | Fenced | Brace | Boxed | Grid
)

EMPTY = NodeRow(())


def _named(names: str, characters: str, kind: Kind = "letter") -> dict[str, Symbol]:
    pairs = zip(names.split(), characters.split(), strict=True)
    return {name: Symbol(text, kind) for name, text in pairs}


_GREEK = _named(
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau "
    "upsilon phi chi psi omega varepsilon vartheta varphi varrho varsigma varpi Gamma Delta Theta "
    "Lambda Xi Pi Sigma Upsilon Phi Psi Omega",
    "α β γ δ ε ζ η θ ι κ λ μ ν ξ π ρ σ τ υ φ χ ψ ω ε ϑ φ ϱ ς ϖ Γ Δ Θ Λ Ξ Π Σ Υ Φ Ψ Ω",
)
LETTERS = _named(
    "infty partial nabla emptyset varnothing forall exists nexists neg lnot ldots dots dotsc cdots "
    "dotsb vdots ddots langle rangle angle prime hbar ell Re Im aleph wp imath jmath top bot "
    "lfloor rfloor lceil rceil lbrace rbrace lbrack rbrack vert Vert lvert rvert lVert rVert "
    "therefore because square blacksquare checkmark dagger degree complement triangle diamond",
    "∞ ∂ ∇ ∅ ∅ ∀ ∃ ∄ ¬ ¬ … … … ⋯ ⋯ ⋮ ⋱ ⟨ ⟩ ∠ ′ ℏ ℓ ℜ ℑ ℵ ℘ ı ȷ ⊤ ⊥ ⌊ ⌋ ⌈ ⌉ { } [ ] | ‖ | | ‖ ‖ "
    "∴ ∵ □ ■ ✓ † ° ∁ △ ⋄",
)
_OPERATORS = _named(
    "times cdot div pm mp cup cap land wedge lor vee circ oplus ominus otimes odot star ast bullet "
    "setminus backslash sqcup sqcap uplus amalg",
    "× · ÷ ± ∓ ∪ ∩ ∧ ∧ ∨ ∨ ∘ ⊕ ⊖ ⊗ ⊙ ⋆ ∗ • ∖ ∖ ⊔ ⊓ ⊎ ⨿",
    "operator",
)
_RELATIONS = _named(
    "le leq leqslant ge geq geqslant ne neq approx equiv sim simeq propto in notin ni subset "
    "subseteq subsetneq supset supseteq to rightarrow gets leftarrow leftrightarrow longrightarrow "
    "longleftarrow Rightarrow Leftarrow Leftrightarrow Longrightarrow iff implies impliedby mapsto "
    "longmapsto hookrightarrow rightharpoonup rightleftharpoons uparrow downarrow Uparrow "
    "Downarrow nearrow searrow perp parallel mid nmid ll gg cong models vdash dashv prec preceq "
    "succ succeq asymp doteq triangleq coloneqq leadsto upharpoonright",
    "≤ ≤ ≤ ≥ ≥ ≥ ≠ ≠ ≈ ≡ ∼ ≃ ∝ ∈ ∉ ∋ ⊂ ⊆ ⊊ ⊃ ⊇ → → ← ← ↔ ⟶ ⟵ ⇒ ⇐ ⇔ ⟹ ⇔ ⇒ ⇐ ↦ ⟼ ↪ ⇀ ⇌ ↑ ↓ ⇑ ⇓ "
    "↗ ↘ ⊥ ∥ ∣ ∤ ≪ ≫ ≅ ⊨ ⊢ ⊣ ≺ ⪯ ≻ ⪰ ≍ ≐ ≜ ≔ ⇝ ↾",
    "relation",
)
_BIG = {
    name: symbol._replace(has_limits="int" not in name)
    for name, symbol in _named(
        "sum prod coprod bigcup bigcap bigoplus bigotimes bigvee bigwedge int iint iiint oint",
        "∑ ∏ ∐ ⋃ ⋂ ⨁ ⨂ ⋁ ⋀ ∫ ∬ ∭ ∮",
        "big",
    ).items()
}
_FUNCTIONS = (
    "sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh coth log ln lg exp det dim ker deg"
    " gcd hom arg mod bmod"
)
_WITH_LIMITS = "min max sup inf lim Pr argmax argmin"
_WORDS = {
    **_named(_FUNCTIONS, _FUNCTIONS, "word"),
    **{
        name: symbol._replace(has_limits=True)
        for name, symbol in _named(_WITH_LIMITS, _WITH_LIMITS, "word").items()
    },
    "limsup": Symbol("lim sup", "word", has_limits=True),
    "liminf": Symbol("lim inf", "word", has_limits=True),
}
SYMBOLS = {**_GREEK, **LETTERS, **_OPERATORS, **_RELATIONS, **_BIG, **_WORDS}
SPACES = {"quad": "  ", "qquad": "    ", ",": " ", ";": " ", ":": " ", ">": " ", " ": " ", "!": ""}
_SIZES = "big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr Biggl Biggr middle displaystyle"
_HINTS = "limits nolimits textstyle scriptstyle nonumber notag hline allowbreak"
IGNORED = frozenset(f"{_SIZES} {_HINTS}".split())
TYPEFACES = {"mathbf", "mathit", "mathsf", "boldsymbol", "bm", "mathtt", "mathfrak", "mathrm"}
TEXTS = {"text", "textbf", "textit", "textrm", "texttt", "mbox"}
_DOUBLE = dict(zip("CHNPQRZEFKABDIT1", "ℂℍℕℙℚℝℤ𝔼𝔽𝕂𝔸𝔹𝔻𝕀𝕋𝟙", strict=True))
_SCRIPT = dict(zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "𝒜ℬ𝒞𝒟ℰℱ𝒢ℋℐ𝒥𝒦ℒℳ𝒩𝒪𝒫𝒬ℛ𝒮𝒯𝒰𝒱𝒲𝒳𝒴𝒵", strict=True))
ALPHABETS = {"mathbb": _DOUBLE, "mathcal": _SCRIPT, "mathscr": _SCRIPT}
ACCENTS = {
    "hat": "\u0302",
    "widehat": "\u0302",
    "bar": "\u0304",
    "vec": "\u20d7",
    "overrightarrow": "\u20d7",
    "tilde": "\u0303",
    "widetilde": "\u0303",
    "dot": "\u0307",
    "ddot": "\u0308",
    "check": "\u030c",
    "breve": "\u0306",
    "mathring": "\u030a",
    "overline": "\u0305",
    "underline": "\u0332",
    "cancel": "\u0338",
}
NEGATED = {
    "=": "≠",
    "∈": "∉",
    "≡": "≢",
    "⊂": "⊄",
    "⊆": "⊈",
    "∼": "≁",
    "≈": "≉",
    "<": "≮",
    ">": "≯",
}
ALIGNED = ("rl", ". ")
GRIDS: dict[str, tuple[str, str, str, str]] = {
    # left and right delimiter, alignments, gaps
    "matrix": ("", "", "c", " "),
    "smallmatrix": ("", "", "c", " "),
    "pmatrix": ("(", ")", "c", " "),
    "bmatrix": ("[", "]", "c", " "),
    "Bmatrix": ("{", "}", "c", " "),
    "vmatrix": ("|", "|", "c", " "),
    "Vmatrix": ("‖", "‖", "c", " "),
    "cases": ("{", "", "l", " "),
    "rcases": ("", "}", "l", " "),
    "array": ("", "", "c", " "),
    **dict.fromkeys(("aligned", "align", "split", "alignat", "eqnarray"), ("", "", *ALIGNED)),
    **dict.fromkeys(("gathered", "gather", "multline", "equation"), ("", "", "c", ".")),
}

"""Formulas in LaTeX as a line of ordinary characters, where that can be read. Pure.

What is not understood is left to the reader: better the source than half of a formula.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

_TOKEN = re.compile(r"\\[A-Za-z]+\s*|\\.|[{}^_]|\s+|.", re.DOTALL)
_LOOKS_LIKE_ONE = re.compile(r"\\[A-Za-z]|\^")
"""Something between dollars without any of these may be prices or variables of a shell."""
_MAX_NESTING = 30
"""Groups inside of each other that somebody may still want to read."""


def _words(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _named(names: str, characters: str) -> dict[str, str]:
    return dict(zip(names.split(), characters, strict=True))


_SYMBOLS = {
    **_named(
        "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau "
        "upsilon phi chi psi omega varepsilon vartheta varphi Gamma Delta Theta Lambda Xi Pi Sigma "
        "Upsilon Phi Psi Omega",
        "αβγδεζηθικλμνξπρστυφχψωεϑφΓΔΘΛΞΠΣΥΦΨΩ",
    ),
    **_named(
        "times cdot div pm mp le leq ge geq ne neq approx equiv sim propto infty partial nabla sum "
        "prod int oint in notin subset subseteq supset supseteq cup cap emptyset forall exists neg "
        "lnot land wedge lor vee to rightarrow leftarrow leftrightarrow Rightarrow Leftarrow "
        "Leftrightarrow iff implies mapsto ldots dots cdots langle rangle circ oplus otimes perp "
        "parallel angle prime star ast bullet hbar ell setminus mid lfloor rfloor lceil rceil ll "
        "gg cong models vdash top bot therefore because",
        "×·÷±∓≤≤≥≥≠≠≈≡∼∝∞∂∇∑∏∫∮∈∉⊂⊆⊃⊇∪∩∅∀∃¬¬∧∧∨∨→→←↔⇒⇐⇔⇔⇒↦……⋯⟨⟩∘⊕⊗⊥∥∠′⋆∗•ℏℓ∖∣⌊⌋⌈⌉≪≫≅⊨⊢⊤⊥∴∵",
    ),
}
_WORDS = _words(
    "sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh log ln lg exp min max sup inf lim "
    "det dim ker deg gcd Pr arg mod"
)
_BLANKS = {"quad": "  ", "qquad": "    ", ",": " ", ";": " ", ":": " ", " ": " ", "!": ""}
_UNSEEN = _words("left right big Big bigg Bigg displaystyle limits nolimits")
_AS_IT_IS = _words("text mathrm mathbf mathit mathsf operatorname textbf textit")
_DOUBLE = _named("C H N P Q R Z E F", "ℂℍℕℙℚℝℤ𝔼𝔽")
_ACCENTS = _named(
    "hat bar vec tilde dot ddot overline", "\u0302\u0304\u20d7\u0303\u0307\u0308\u0305"
)
_RAISED = dict(
    zip(
        "0123456789+-=()abcdefghijklmnoprstuvwxyzT′",
        "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᵀ′",
        strict=True,
    )
)
_LOWERED = dict(
    zip("0123456789+-=()aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ", strict=True)
)


class _NotUnderstood(Exception):
    """There is something in the formula for which there are no characters."""


def formula(source: str) -> str | None:
    """A formula as characters, or nothing if it is none, or is more than a line can show."""
    if not _LOOKS_LIKE_ONE.search(source):
        return None
    try:
        return _Reader(source).all()
    except _NotUnderstood:
        return None


class _Reader:
    """Goes through a formula from left to right."""

    def __init__(self, source: str) -> None:
        self._tokens: list[str] = _TOKEN.findall(source)[::-1]
        """What is still to be read, the next one last."""
        self._depth = 0

    def all(self) -> str:
        """The whole formula."""
        shown = self._until_end()
        if self._tokens:
            raise _NotUnderstood
        return re.sub(r"  +", " ", shown).strip()

    def _until_end(self) -> str:
        """Everything up to the end of the formula or of a group."""
        parts: list[str] = []
        while self._tokens and self._tokens[-1] != "}":
            parts.append(self._next())
        return "".join(parts)

    def _next(self) -> str:
        """One letter, command or group."""
        if self._depth == _MAX_NESTING:
            raise _NotUnderstood
        self._depth += 1
        shown = self._meant(self._taken())
        self._depth -= 1
        return shown

    def _meant(self, token: str) -> str:
        match token:
            case "{":
                inside = self._until_end()
                if self._taken() != "}":
                    raise _NotUnderstood
                return inside
            case "^":
                return self._beside(_RAISED, "^")
            case "_":
                return self._beside(_LOWERED, "_")
            case _ if token.isspace():
                return " "
            case _ if token.startswith("\\"):
                return self._command(token[1:])
        return token

    def _command(self, written: str) -> str:
        name = written.rstrip() or written
        blank = " " if written != name else ""
        if name in _SYMBOLS:
            return _SYMBOLS[name] + blank
        if name in _WORDS:
            is_followed = bool(self._tokens) and re.match(r"[^\W_]|\\", self._tokens[-1])
            return f"{name} " if blank or is_followed else name
        if name in _UNSEEN:
            return ""
        if name in _BLANKS:
            return _BLANKS[name]
        if draw := _WITH_ARGUMENT.get(name):
            return draw(self)
        if not name.isalpha() and name != "\\":
            return name
        raise _NotUnderstood

    def _beside(self, letters: dict[str, str], sign: str) -> str:
        """What stands above or below the line."""
        text = self._argument()
        return _placed(text.strip(), letters, sign) + (" " if text.endswith(" ") else "")

    def _argument(self) -> str:
        """What a command or a sign applies to: a group, or the very next letter."""
        while self._tokens and self._tokens[-1].isspace():
            self._tokens.pop()
        return self._next()

    def _taken(self) -> str:
        if not self._tokens:
            raise _NotUnderstood
        return self._tokens.pop()

    def fraction(self) -> str:
        """``a/b``, with brackets where they are needed."""
        return f"{_bracketed(self._argument())}/{_bracketed(self._argument())}"

    def root(self) -> str:
        """``√x``; the degree of a higher one stands before it."""
        degree = ""
        if self._tokens and self._tokens[-1] == "[":
            self._tokens.pop()
            while (token := self._taken()) != "]":
                degree += token
        return f"{_placed(degree, _RAISED, '^') if degree else ''}√{_bracketed(self._argument())}"

    def as_it_is(self) -> str:
        """Letters of another type face."""
        return self._argument()

    def double(self) -> str:
        """Letters with double lines, as for sets of numbers."""
        letters = self._argument()
        return "".join(_DOUBLE.get(letter, letter) for letter in letters)

    def accented(self, mark: str) -> str:
        """A letter below a sign."""
        letters = self._argument()
        return "".join(letter + mark for letter in letters)


_WITH_ARGUMENT: dict[str, Callable[[_Reader], str]] = {
    **dict.fromkeys(("frac", "dfrac", "tfrac"), _Reader.fraction),
    "sqrt": _Reader.root,
    "mathbb": _Reader.double,
    **dict.fromkeys(_AS_IT_IS, _Reader.as_it_is),
    **{name: partial(_Reader.accented, mark=mark) for name, mark in _ACCENTS.items()},
}


def _placed(text: str, letters: dict[str, str], sign: str) -> str:
    """A text above or below the line, if there are such letters, else behind a sign."""
    if text and all(letter in letters for letter in text):
        return "".join(map(letters.__getitem__, text))
    return sign + _bracketed(text)


def _bracketed(text: str) -> str:
    text = text.strip()
    is_one = len(text) == 1 or re.fullmatch(r"[\d.]+|\([^()]*\)", text)
    return text if is_one else f"({text})"

"""Converts simple LaTeX formulas to a line of Unicode characters. Pure.

Unsupported formulas are shown as source.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

_TOKEN = re.compile(r"\\[A-Za-z]+\s*|\\.|[{}^_]|\s+|.", re.DOTALL)
_LOOKS_LIKE_ONE = re.compile(r"\\[A-Za-z]|\^")
"""A text between dollars without any of these may be prices or shell variables."""
_MAX_NESTING = 30
"""Nested groups that are still readable."""


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
    """The formula contains something that has no Unicode form."""


def formula(source: str) -> str | None:
    """Returns a formula as characters; None if it is not a formula or does not fit a line."""
    if not _LOOKS_LIKE_ONE.search(source):
        return None
    try:
        return _Reader(source).all()
    except _NotUnderstood:
        return None


class _Reader:
    """Reads a formula from left to right."""

    def __init__(self, source: str) -> None:
        self._tokens: list[str] = _TOKEN.findall(source)[::-1]
        """The remaining tokens, the next one last."""
        self._depth = 0

    def all(self) -> str:
        """Returns the whole formula."""
        shown = self._until_end()
        if self._tokens:
            raise _NotUnderstood
        return re.sub(r"  +", " ", shown).strip()

    def _until_end(self) -> str:
        """Reads up to the end of the formula or group."""
        parts: list[str] = []
        while self._tokens and self._tokens[-1] != "}":
            parts.append(self._next())
        return "".join(parts)

    def _next(self) -> str:
        """Reads one letter, command or group."""
        if self._depth == _MAX_NESTING:
            raise _NotUnderstood
        self._depth += 1
        shown = self._convert(self._taken())
        self._depth -= 1
        return shown

    def _convert(self, token: str) -> str:
        match token:
            case "{":
                inside = self._until_end()
                if self._taken() != "}":
                    raise _NotUnderstood
                return inside
            case "^":
                return self._script(_RAISED, "^")
            case "_":
                return self._script(_LOWERED, "_")
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

    def _script(self, letters: dict[str, str], sign: str) -> str:
        """Reads a superscript or subscript."""
        text = self._argument()
        return _placed(text.strip(), letters, sign) + (" " if text.endswith(" ") else "")

    def _argument(self) -> str:
        """Reads the argument of a command or sign: a group, or the next letter."""
        while self._tokens and self._tokens[-1].isspace():
            self._tokens.pop()
        return self._next()

    def _taken(self) -> str:
        if not self._tokens:
            raise _NotUnderstood
        return self._tokens.pop()

    def fraction(self) -> str:
        """Returns ``a/b``, with brackets where needed."""
        return f"{_bracketed(self._argument())}/{_bracketed(self._argument())}"

    def root(self) -> str:
        """Returns ``√x``, preceded by the degree of a higher root."""
        degree = ""
        if self._tokens and self._tokens[-1] == "[":
            self._tokens.pop()
            while (token := self._taken()) != "]":
                degree += token
        return f"{_placed(degree, _RAISED, '^') if degree else ''}√{_bracketed(self._argument())}"

    def unchanged(self) -> str:
        """Returns letters of another typeface unchanged."""
        return self._argument()

    def double(self) -> str:
        """Returns double-struck letters, as for sets of numbers."""
        letters = self._argument()
        return "".join(_DOUBLE.get(letter, letter) for letter in letters)

    def accented(self, mark: str) -> str:
        """Returns a letter with a combining mark."""
        letters = self._argument()
        return "".join(letter + mark for letter in letters)


_WITH_ARGUMENT: dict[str, Callable[[_Reader], str]] = {
    **dict.fromkeys(("frac", "dfrac", "tfrac"), _Reader.fraction),
    "sqrt": _Reader.root,
    "mathbb": _Reader.double,
    **dict.fromkeys(_AS_IT_IS, _Reader.unchanged),
    **{name: partial(_Reader.accented, mark=mark) for name, mark in _ACCENTS.items()},
}


def _placed(text: str, letters: dict[str, str], sign: str) -> str:
    """Returns a superscript or subscript if all characters exist, otherwise with a sign."""
    if text and all(letter in letters for letter in text):
        return "".join(map(letters.__getitem__, text))
    return sign + _bracketed(text)


def _bracketed(text: str) -> str:
    text = text.strip()
    is_one = len(text) == 1 or re.fullmatch(r"[\d.]+|\([^()]*\)", text)
    return text if is_one else f"({text})"

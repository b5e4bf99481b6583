"""Patterns of keys, tokens and connection URLs. Pure.

The patterns are valid for ``re`` and for RE2: no look-around, no back references.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TypeAlias

from pi.batteries.secrets.names import LONG_WORDS, SHORT_WORDS, is_secret_name
from pi.batteries.secrets.random_values import SHORTEST_RANDOM, is_random_secret
from pi.extension import Record

IsSecret: TypeAlias = Callable[[str, str], bool]
"""Whether a value is a secret; called with the name of the variable and the value."""


class Shape(Record):
    """A kind of credential. The groups ``before`` and ``after`` of the pattern are not secret."""

    name: str
    needle: str
    """A text that every match contains."""
    pattern: str
    is_secret: IsSecret | None = None
    """Checks a match whose group ``before`` begins with the name of a variable."""


def _shape(name: str, needle: str, pattern: str, is_secret: IsSecret | None = None) -> Shape:
    return Shape(name=name, needle=needle, pattern=pattern, is_secret=is_secret)


PRIVATE_KEY = _shape(
    "private key",
    "PRIVATE KEY-----",
    r"(?P<before>-----BEGIN [A-Z ]*PRIVATE KEY-----)(?:[^-]|-[^-])+",
)
"""Matches up to the last line of the key; a truncated key up to the end of the text."""

_ASSIGNED = r"\\?[\"']?[ \t]*[:=][ \t]*\\?[\"']?"
"""Between a name and its value in a shell, YAML, JSON and source code."""
_VALUE = r"[^\s\"'$<>(){}\[\]|&;]{8,}"
"""The value of a variable; expressions of a shell or of code do not match."""
_ENDS = r"(?P<after>[\s\"'\\,;)\]}&]|$)"
_LONGEST_END = "{0,40}"
"""A limit of the part of a name behind its secret word keeps the search linear."""


def _variables() -> Iterator[Shape]:
    """Yield the shapes of variables in upper case, by the secret word in their names."""
    for word in LONG_WORDS:
        name = rf"[A-Z0-9_]*{word}[A-Z0-9_]{_LONGEST_END}"
        yield _variable(word, name)
    for word in SHORT_WORDS:
        # ``KEY`` counts without a separator before it, as in ``TS_AUTHKEY``.
        start = "[A-Z0-9_]*" if word == "KEY" else "(?:[A-Z0-9_]*_)?"
        yield _variable(word, rf"{start}{word}(?:_[A-Z0-9_]{_LONGEST_END})?")


def _variable(word: str, name: str) -> Shape:
    return _shape("variable", word, rf"(?P<before>\b{name}{_ASSIGNED}){_VALUE}", _is_variable)


def _is_variable(assigned: str, value: str) -> bool:
    name, separator = _split_assigned(assigned)
    if not is_secret_name(name, value):
        return False
    # ``TOKEN: Optional`` in source code is a type; ``TOKEN=`` and quotes are a value.
    is_value = separator == "=" or separator.endswith(("'", '"'))
    return is_value or any(letter.isdigit() for letter in value)


def _is_random(assigned: str, value: str) -> bool:
    return is_random_secret(_split_assigned(assigned)[0], value)


def _split_assigned(assigned: str) -> tuple[str, str]:
    """The name and the separator of the group ``before``, which may start with an escape."""
    match = re.search(rf"([A-Za-z0-9_.-]+)({_ASSIGNED})$", assigned)
    return (match[1], match[2]) if match else (assigned, "")


SHAPES = (
    _shape("OpenAI, Anthropic and similar", "sk-", r"\bsk-[A-Za-z0-9_-]{16,}"),
    _shape("Stripe", "k_live_", r"\b[rs]k_live_[A-Za-z0-9]{16,}"),
    _shape("Stripe", "k_test_", r"\b[rs]k_test_[A-Za-z0-9]{16,}"),
    _shape("Groq", "gsk_", r"\bgsk_[A-Za-z0-9]{20,}"),
    _shape("xAI", "xai-", r"\bxai-[A-Za-z0-9]{20,}"),
    _shape("Perplexity", "pplx-", r"\bpplx-[A-Za-z0-9]{20,}"),
    _shape("Hugging Face", "hf_", r"\bhf_[A-Za-z0-9]{30,}"),
    _shape("Replicate", "r8_", r"\br8_[A-Za-z0-9]{30,}"),
    _shape("GitHub", "ghp_", r"\bghp_[A-Za-z0-9]{30,}"),
    _shape("GitHub", "gho_", r"\bgho_[A-Za-z0-9]{30,}"),
    _shape("GitHub", "ghu_", r"\bghu_[A-Za-z0-9]{30,}"),
    _shape("GitHub", "ghs_", r"\bghs_[A-Za-z0-9]{30,}"),
    _shape("GitHub", "ghr_", r"\bghr_[A-Za-z0-9]{30,}"),
    _shape("GitHub", "github_pat_", r"\bgithub_pat_[A-Za-z0-9_]{22,}"),
    _shape("GitLab", "glpat-", r"\bglpat-[A-Za-z0-9_-]{20,}"),
    _shape("npm", "npm_", r"\bnpm_[A-Za-z0-9]{36}"),
    _shape("PyPI", "pypi-", r"\bpypi-[A-Za-z0-9_-]{40,}"),
    _shape("AWS", "AKIA", r"\bAKIA[0-9A-Z]{16}\b"),
    _shape("AWS", "ASIA", r"\bASIA[0-9A-Z]{16}\b"),
    _shape("Google", "AIza", r"\bAIza[0-9A-Za-z_-]{35}"),
    _shape("Google", "ya29.", r"\bya29\.[0-9A-Za-z_-]{20,}"),
    _shape("Google", "GOCSPX-", r"\bGOCSPX-[0-9A-Za-z_-]{20,}"),
    _shape("Slack", "xox", r"\bxox[abeoprs]-[0-9A-Za-z-]{10,}"),
    _shape(
        "Slack",
        "hooks.slack.com/",
        r"(?P<before>hooks\.slack\.com/services/)[A-Za-z0-9/_-]+",
    ),
    _shape("SendGrid", "SG.", r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    _shape("DigitalOcean", "dop_v1_", r"\bdop_v1_[a-f0-9]{32,}"),
    _shape("Telegram", ":AA", r"\b[0-9]{8,10}:AA[A-Za-z0-9_-]{30,}"),
    _shape("JSON web token", "eyJ", r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+"),
    _shape(
        "Authorization header",
        "uthorization",
        r"(?P<before>uthorization[^\w\n]{1,6}(?:[Bb]earer|[Bb]asic|[Tt]oken)[ \t]+)"
        r"[^\s\"'\\,;<]{6,}",
    ),
    _shape(
        "connection URL",
        "://",
        r"(?P<before>\b[a-z][a-z0-9+.-]{0,20}://[^\s/:@\"'<>]*:)[^\s/@\"'<>$]+(?P<after>@)",
    ),
    *_variables(),
    *(
        _shape(
            "random value",
            sign,
            rf"(?P<before>\b[A-Za-z_][A-Za-z0-9_.-]*{_ASSIGNED.replace('[:=]', sign)})"
            rf"[A-Za-z0-9+/_-]{{{SHORTEST_RANDOM},}}={{0,2}}{_ENDS}",
            _is_random,
        )
        for sign in "=:"
    ),
)


_START = r"\b|\\[abfnrtv]|\\x[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|%[0-9A-Fa-f]{2}|\x1b\[[0-9;]*m"
"""Start of a key: a word boundary, or an escape, whose last letter would hide the boundary."""


def in_texts(pattern: str) -> str:
    """The pattern of a shape for a search in text, also after escapes of JSON, URLs or colours."""
    if pattern.startswith(r"\b"):
        return f"(?P<before>{_START}){pattern[2:]}"
    return pattern.replace(r"(?P<before>\b", f"(?P<before>(?:{_START})", 1)


def without_groups(pattern: str) -> str:
    """The pattern without named groups."""
    return re.sub(r"\(\?P<\w+>", "(?:", pattern)


def secret_part(match: re.Match[str]) -> tuple[int, int]:
    """Start and end of the secret: the match without ``before`` and ``after``."""
    groups = match.groupdict()
    start = match.end("before") if groups.get("before") is not None else match.start()
    end = match.start("after") if groups.get("after") is not None else match.end()
    return start, end


def looks_secret(value: str) -> bool:
    """Whether a whole value has the shape of a credential."""
    return any(
        shape.needle in value and re.fullmatch(shape.pattern, value.strip())
        for shape in SHAPES
        if "(?P<" not in shape.pattern
    )

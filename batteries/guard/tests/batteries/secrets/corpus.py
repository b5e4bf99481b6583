"""200 secrets of many shapes with their sources, and a search for them in bytes."""

from __future__ import annotations

import base64
import json
import random
import re
import string
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote, unquote

_LETTERS = string.ascii_letters + string.digits
_NAMES = ("API_KEY", "SECRET", "TOKEN", "PASSWORD", "PASSWD", "AUTH", "CREDENTIALS", "PRIVATE_KEY")
_SHAPES = (
    ("sk-", 40),
    ("sk-ant-api03-", 40),
    ("gsk_", 30),
    ("xai-", 30),
    ("pplx-", 30),
    ("hf_", 34),
    ("r8_", 34),
    ("ghp_", 36),
    ("gho_", 36),
    ("ghs_", 36),
    ("github_pat_", 40),
    ("glpat-", 20),
    ("npm_", 36),
    ("pypi-", 60),
    ("AIza", 35),
    ("ya29.", 40),
    ("GOCSPX-", 28),
    ("xoxb-", 30),
    ("rk_live_", 24),
    ("sk_test_", 24),
)


@dataclass(frozen=True)
class Secret:
    """One secret: the text that must not leave, and how it occurs in a text."""

    value: str
    shown: str = ""
    """The text around it that makes it recognisable; the value alone if empty."""


def _random(source: random.Random, size: int, letters: str = _LETTERS) -> str:
    return "".join(source.choice(letters) for _ in range(size))


class Corpus:
    """The secrets, and the environment and files that declare them."""

    def __init__(self) -> None:
        source = random.Random(24)
        self.environ: dict[str, str] = {}
        self.plain: list[str] = []
        self.secrets: list[Secret] = []
        odd = _LETTERS + "\"'\\/+= &%$<>{}äß漢\t"
        for number in range(50):  # named variables, with everything that is escaped somewhere
            value = "v" + _random(source, 10 + number, odd if number % 2 else _LETTERS) + "w"
            self.environ[f"A{number}_{_NAMES[number % len(_NAMES)]}"] = value
            self.secrets.append(Secret(value))
        for number in range(10):  # multi-line values
            body = "\n".join(_random(source, 64, _LETTERS + "+/") for _ in range(5))
            value = f"-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----\n"
            self.environ[f"B{number}_KEY"] = value
            self.secrets += (Secret(body), Secret(body.splitlines()[2], value))
        for number in range(15):  # connection URLs, whatever the variable is called
            password = _random(source, 14) + "@%"
            url = f"postgres://me:{quote(password, safe='')}@host{number}/db"
            self.environ[f"C{number}_ADDRESS"] = url
            self.secrets += (Secret(quote(password, safe=""), url), Secret(password))
        for number in range(40):  # secrets.yml, plain
            value = _random(source, 8 + number, odd)
            self.plain.append(value)
            self.secrets.append(Secret(value))
        self.pattern = "internal-[0-9]{12}"
        self.secrets += (
            Secret(f"internal-{_random(source, 12, string.digits)}") for _ in range(10)
        )
        for number in range(50):  # unknown, but recognisable
            prefix, size = _SHAPES[number % len(_SHAPES)]
            self.secrets.append(Secret(prefix + _random(source, size)))
        for number in range(10):
            value = _random(source, 20)
            self.secrets.append(Secret(value, f"export D{number}_API_KEY={value}"))
        assert len(self.secrets) >= 200
        assert unquote(self.secrets[70].value)

    @property
    def yaml(self) -> str:
        """``secrets.yml``."""
        entries: list[dict[str, str]] = [{"type": "plain", "content": v} for v in self.plain]
        entries.append({"type": "regex", "content": self.pattern})
        return json.dumps(entries)

    def text(self) -> str:
        """All secrets, one after another."""
        return "\n".join(f"{each.shown or each.value} ." for each in self.secrets)

    def leaks(self, data: bytes) -> list[str]:
        """The secrets that bytes contain: literally, escaped, or inside base64."""
        texts = [data.decode("utf-8", "replace")]
        for found in re.finditer(rb"[A-Za-z0-9+/]{200,}={0,2}", data):
            raw = found[0]
            texts.append(base64.b64decode(raw + b"=" * (-len(raw) % 4)).decode("latin-1"))
        whole = "\n".join(texts)
        return [each.value for each in self.secrets if any(f in whole for f in _forms(each.value))]


def _forms(value: str) -> Iterator[str]:
    yield value
    yield json.dumps(value)[1:-1]
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    yield json.dumps(value, ensure_ascii=False)[1:-1].replace("/", "\\/")
    yield repr(value)[1:-1]
    yield repr("\"'" + value)[4:-1]
    yield quote(value, safe="")
    yield json.dumps(json.dumps(value)[1:-1])[1:-1]
    yield json.dumps(json.dumps(value, ensure_ascii=False)[1:-1], ensure_ascii=False)[1:-1]

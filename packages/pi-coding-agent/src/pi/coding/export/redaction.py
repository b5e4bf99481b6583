"""Removes secrets from exports and shared sessions."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias
from urllib.parse import quote

import msgspec

from pi.ai.auth.config_values import SHORTEST_SECRET
from pi.ai.transcript import Instructions
from pi.base.records import replace
from pi.coding.session.entries import Entry, SessionHeader, UnknownEntry

REDACTED = "[redacted]"

_START = (
    r"(?:\b|(?<=\\[abfnrtv])|(?<=\\x[0-9A-Fa-f]{2})|(?<=\\u[0-9A-Fa-f]{4})"
    r"|(?<=%[0-9A-Fa-f]{2})|(?<=[0-9;\[]m))"
)
"""Where a key may begin: also behind an escape, whose last letter would hide the boundary."""

# Each pattern with a text that every match contains: checking for that first keeps megabytes of
# tool output fast. The groups ``before`` and ``after`` of a pattern are kept.
SHAPES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (needle, re.compile(pattern.replace(r"\b", _START, 1)))  # the first one is always at the start
    for needle, pattern in (
        ("sk-", r"\bsk-[A-Za-z0-9_-]{16,}"),
        ("sk_", r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}"),
        ("gsk_", r"\bgsk_[A-Za-z0-9]{20,}"),
        ("xai-", r"\bxai-[A-Za-z0-9]{20,}"),
        ("hf_", r"\bhf_[A-Za-z0-9]{30,}"),
        ("pplx-", r"\bpplx-[A-Za-z0-9]{20,}"),
        ("gh", r"\bgh[pousr]_[A-Za-z0-9]{30,}"),
        ("github_pat_", r"\bgithub_pat_[A-Za-z0-9_]{22,}"),
        ("glpat-", r"\bglpat-[A-Za-z0-9_-]{20,}"),
        ("npm_", r"\bnpm_[A-Za-z0-9]{36}"),
        ("pypi-", r"\bpypi-[A-Za-z0-9_-]{40,}"),
        ("AKIA", r"\bAKIA[0-9A-Z]{16}\b"),
        ("ASIA", r"\bASIA[0-9A-Z]{16}\b"),
        ("AIza", r"\bAIza[0-9A-Za-z_-]{35}"),
        ("ya29.", r"\bya29\.[0-9A-Za-z_-]{20,}"),
        ("GOCSPX-", r"\bGOCSPX-[0-9A-Za-z_-]{20,}"),
        ("xox", r"\bxox[abeoprs]-[0-9A-Za-z-]{10,}"),
        ("hooks.slack.com/", r"(?P<before>hooks\.slack\.com/services/)[A-Za-z0-9/_-]+"),
        ("eyJ", r"\beyJ[\w-]{8,4000}\.[\w-]{8,}\.[\w-]+"),
        (
            "PRIVATE KEY-----",
            r"(?P<before>-----BEGIN [A-Z ]*PRIVATE KEY-----)[\s\S]*?"
            r"(?P<after>-----END [A-Z ]*PRIVATE KEY-----|\Z)",
        ),
        (
            "uthorization",
            r"(?P<before>uthorization\W{1,6}(?:Bearer|bearer|Basic|basic|Token|token)\s+)"
            r"[^\s\"'\\,;]+",
        ),
        ("://", r"(?P<before>\b[a-z][a-z0-9+.-]{0,20}://[^\s/:@\"']*:)[^\s/@\"']+(?P<after>@)"),
        # A variable of a shell or an .env file. Does not match code: its names are seldom in upper
        # case, and expressions begin with one of the excluded characters.
        (
            "=",
            r"(?P<before>\b(?!(?:OLD)?PWD=|SSH_AUTH_SOCK=|[A-Z0-9_]*(?:MAX|MIN|LIMIT)[A-Z0-9_]*=\d+\b)(?:[A-Z0-9_]*(?:SECRET|TOKEN|"
            r"PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|BEARER|OAUTH|JWT)[A-Z0-9_]{0,40}|"
            r"[A-Z0-9_]*KEYS?|(?:[A-Z0-9_]*_)?(?:KEYS?|PASS|PWD|AUTH|PAT|DSN|COOKIE|SALT|PEPPER|HMAC|SK)(?:_[A-Z0-9_]{0,40})?)=[\"']?)"
            r"[^\s\"'$<>(){}\[\]|&;]{8,}",
        ),
    )
)


Redact: TypeAlias = Callable[[str], str]
"""Returns a text without secrets."""


class Redactor:
    """Replaces known secret values, and texts with the shape of a key, by a notice."""

    def __init__(self, values: Iterable[str] = (), *, extra: Redact | None = None) -> None:
        self._extra = extra
        """Additional redaction of the caller."""
        written = {form for value in values for form in _written_forms(value)}
        longest_first = sorted(written, key=len, reverse=True)
        self._values = re.compile("|".join(map(re.escape, longest_first))) if written else None

    def text(self, text: str) -> str:
        """Return ``text`` with a notice in place of every secret."""
        if self._values is not None:
            text = self._values.sub(REDACTED, text)
        for needle, shape in SHAPES:
            if needle in text:
                text = shape.sub(_notice, text)
        return text if self._extra is None else self._extra(text)

    def found(self, text: str) -> set[str]:
        """Return the secrets in ``text``: the pieces between the parts that are kept."""
        parts = self.text(text).split(REDACTED)
        secrets: set[str] = set()
        end = len(parts[0])
        for part in parts[1:]:
            start, end = end, text.find(part, end) if part else len(text)
            if end < 0:  # a redactor has changed more than the secret
                break
            secrets.add(text[start:end])
            end += len(part)
        return secrets

    def json(self, value: Any) -> Any:
        """Return a JSON value with a notice in place of every secret; image data is unchanged."""
        # The cache: most texts of a session are names of fields and kinds, which repeat.
        return self._redact_json(value, {})

    def _redact_json(self, value: Any, redacted_texts: dict[str, str]) -> Any:
        match value:
            case str():
                return (
                    self._redact_short(value, redacted_texts)
                    if len(value) <= 40
                    else self.text(value)
                )
            case {"type": "image", "data": str() as data, **rest}:
                return {**self._redact_json(rest, redacted_texts), "type": "image", "data": data}
            case dict():
                return {
                    self._redact_short(key, redacted_texts): self._redact_json(
                        member, redacted_texts
                    )
                    for key, member in value.items()
                }
            case list() | tuple():
                return type(value)(self._redact_json(member, redacted_texts) for member in value)
            case _:
                return value

    def _redact_short(self, text: str, redacted_texts: dict[str, str]) -> str:
        if (redacted := redacted_texts.get(text)) is None:
            redacted = redacted_texts[text] = self.text(text)
        return redacted

    def entry(self, entry: Entry) -> Entry:
        """Return an entry without secrets; the same object if it contains none."""
        if isinstance(entry, UnknownEntry):
            return replace(entry, data=self.json(entry.data))
        before = msgspec.to_builtins(entry)
        after = self.json(before)
        if after == before:
            return entry
        try:
            return msgspec.convert(after, type=type(entry))
        except msgspec.ValidationError:  # the secret is a keyword of the format, such as "message"
            return UnknownEntry(
                data=after, id=entry.id, parent_id=entry.parent_id, timestamp=entry.timestamp
            )

    def header(self, header: SessionHeader) -> SessionHeader:
        """Return a session header without secrets."""
        parent = header.parent_session
        return replace(
            header,
            id=self.text(header.id),
            cwd=self.text(header.cwd),
            parent_session=self.text(parent) if isinstance(parent, str) else parent,
        )

    def instructions(self, instructions: Instructions) -> Instructions:
        """Return system prompt and tools without secrets."""
        tools = (
            replace(
                tool,
                name=self.text(tool.name),
                description=self.text(tool.description),
                parameters=self.json(tool.parameters),
            )
            for tool in instructions.tools
        )
        return Instructions(prompt=self.text(instructions.prompt), tools=tuple(tools))


def _written_forms(value: str) -> Iterator[str]:
    """Yield a value literally, and as encoded in JSON, Python and URLs."""
    if len(value) >= SHORTEST_SECRET:
        yield value
        yield json.dumps(value)[1:-1]
        yield json.dumps(value, ensure_ascii=False)[1:-1]
        yield repr(value)[1:-1]
        yield repr("\"'" + value)[4:-1]  # within a text that has both quotes
        yield quote(value, safe="", errors="replace")


def _notice(secret: re.Match[str]) -> str:
    groups = secret.groupdict()
    return f"{groups.get('before', '')}{REDACTED}{groups.get('after', '')}"

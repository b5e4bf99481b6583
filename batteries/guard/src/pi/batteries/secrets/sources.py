"""Finds secrets in the environment and in ``secrets.yml``, and merges them. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias
from urllib.parse import quote, quote_plus, unquote, urlsplit

from pi.batteries.secrets.names import NOT_SECRET, is_secret_name
from pi.batteries.secrets.random_values import is_random_secret
from pi.batteries.secrets.shapes import looks_secret
from pi.extension import BadFormat, BadResource, Record, parse_yaml

Mode: TypeAlias = Literal["obfuscate", "replace"]

SHORTEST = 8
"""Minimal length of a value in the environment; shorter ones occur in ordinary text."""
SHORTEST_LINE = 16
"""Minimal length of a line of a longer secret to be hidden on its own."""


class Entry(Record):
    """One secret: a value, or a pattern of values."""

    content: str
    is_pattern: bool = False
    mode: Mode = "obfuscate"
    replacement: str = ""
    """The replacement in mode ``replace``; empty for a text of the same length."""
    flags: str = ""
    source: str = ""
    """Its origin, for ``/secrets``."""


# ``secrets.yml`` ----------------------------------------------------------------------------------


class SecretsFile(Record):
    """One ``secrets.yml``."""

    path: str
    entries: tuple[Entry, ...] = ()


def parse_file(text: str, path: Path) -> SecretsFile:
    """Parse ``secrets.yml``. Raises ``BadResource``, which names the first invalid entry."""
    try:
        document = parse_yaml(text)
    except BadFormat as error:
        raise BadResource(f"It is not valid YAML: {error.message}") from error
    if document is None:
        return SecretsFile(path=str(path))
    if not isinstance(document, list):
        raise BadResource("It must be a list of entries with type and content.")
    entries = (_entry(value, number) for number, value in enumerate(document, 1))
    return SecretsFile(path=str(path), entries=tuple(entries))


def _entry(value: Any, number: int) -> Entry:
    label = f"Entry {number}"
    if not isinstance(value, dict):
        raise BadResource(f"{label} is not a mapping with type and content.")
    kind, content, mode = value.get("type"), value.get("content"), value.get("mode", "obfuscate")
    if kind not in ("plain", "regex"):
        raise BadResource(f'{label}: type must be "plain" or "regex".')
    if not isinstance(content, str) or not content:
        raise BadResource(f"{label}: content must be a text that is not empty.")
    if mode not in ("obfuscate", "replace"):
        raise BadResource(f'{label}: mode must be "obfuscate" or "replace".')
    flags, replacement = value.get("flags", ""), value.get("replacement", "")
    if not isinstance(flags, str) or not isinstance(replacement, str):
        raise BadResource(f"{label}: flags and replacement must be texts.")
    entry = Entry(
        content=content,
        is_pattern=kind == "regex",
        mode=mode,
        replacement=replacement,
        flags=flags,
    )
    if entry.is_pattern:
        try:
            compiled(entry)
        except ValueError as error:
            raise BadResource(f"{label}: {error}") from error
    return entry


_LITERAL = re.compile(r"/((?:[^/\\\n]|\\.)+)/([a-z]*)", re.DOTALL)
_FLAGS = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL}
_IGNORED_FLAGS = frozenset("gudvy")
"""Flags of JavaScript that have no meaning here; all occurrences are always replaced."""


def compiled(entry: Entry) -> re.Pattern[str]:
    """The pattern of an entry, also as ``/pattern/flags``; raises ``ValueError``."""
    source, flags = entry.content, entry.flags
    if literal := _LITERAL.fullmatch(source):
        source, flags = literal[1].replace("\\/", "/"), flags + literal[2]
    options = re.NOFLAG
    for flag in flags:
        if flag not in _FLAGS and flag not in _IGNORED_FLAGS:
            raise ValueError(f'unknown flag "{flag}" of a regular expression.')
        options |= _FLAGS.get(flag, re.NOFLAG)
    try:
        return re.compile(re.sub(r"\(\?<(?=[A-Za-z_])", "(?P<", source), options)
    except re.error as error:
        raise ValueError(f"the regular expression is invalid: {error}.") from error


# Environment --------------------------------------------------------------------------------------


def from_environment(environ: Mapping[str, str]) -> Iterator[Entry]:
    """Yield the secrets of the environment, found by the name of the variable or the value."""
    for name, value in environ.items():
        if len(value) < SHORTEST or name in NOT_SECRET:
            continue
        source = f"variable {name}"
        is_secret = is_secret_name(name, value) or looks_secret(value)
        if is_secret or is_random_secret(name, value.strip()):
            yield Entry(content=value, source=source)
        for password in url_passwords(value):
            yield Entry(content=password, source=f"{source} (password)")


def url_passwords(value: str) -> Iterator[str]:
    """Yield the password of a connection URL, as written and percent-decoded."""
    if "://" not in value or "@" not in value:
        return
    try:
        password = urlsplit(value.strip()).password
    except ValueError:
        return
    if password:
        forms = dict.fromkeys((password, unquote(password)))
        yield from (form for form in forms if len(form) >= SHORTEST)


# Merging ------------------------------------------------------------------------------------------


def merged(
    environment: Iterable[Entry], user: Iterable[Entry], project: Iterable[Entry]
) -> tuple[Entry, ...]:
    """All entries. With equal content, project overrides user, and files the environment."""
    entries: dict[tuple[str, bool], Entry] = {}
    for entry in (*environment, *user, *project):
        entries[entry.content, entry.is_pattern] = entry
    return tuple(entries.values())


def written_forms(value: str) -> Iterator[str]:
    """Yield the forms of a value in texts: literal, escaped for other languages, and its lines."""
    yield value
    yield json.dumps(value)[1:-1]
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    yield repr(value)[1:-1]
    yield repr("\"'" + value)[4:-1]  # within a text that has both quotes
    yield quote(value, safe="", errors="replace")
    yield quote_plus(value, safe="", errors="replace")
    if "'" in value:  # in a quoted text of a shell, or of SQL
        yield from (value.replace("'", form) for form in ("'\\''", "'\"'\"'", "''"))
    if '"' in value:  # in CSV
        yield value.replace('"', '""')
    yield from url_passwords(value)
    if "\n" in value:
        yield value.strip()
        yield value.strip().replace("\r\n", "\n")
        yield from _lines(value)


def separate_values(value: str) -> Iterator[str]:
    """Yield a value, its password if it is an address, and its lines: all in plain form."""
    yield value
    yield from url_passwords(value)
    if "\n" in value:
        yield from _lines(value)


def _lines(value: str) -> Iterator[str]:
    """Yield the single lines of a value, because tools number, indent and truncate text."""
    for line in value.splitlines():
        if len(line.strip()) >= SHORTEST_LINE and not line.startswith("-----"):
            yield line.strip()

"""Markdown files that begin with YAML between two lines of dashes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from pi.base.errors import PiError
from pi.base.files import read_regular
from pi.base.records import Record

_FENCED = r"(?s)---[ \t]*\n(?P<yaml>.*?)(?:^|\n)---[ \t]*(?:\n|\Z)(?P<body>.*)"
LARGEST_FRONT_MATTER = 64 * 1024
"""Characters of YAML."""
LARGEST_EXPANDED = 4 * 1024 * 1024
"""Characters to which aliases may expand it; the parser itself copies without a bound."""
MOST_INDICATORS = 20
"""Nested ``-`` or ``?`` on one line: the parser recurses for each and crashes at some thousands."""
_ANCHORS = r"(?<![^\s,\[{:])&([^\s,\[\]{}]+)"
_ALIASES = r"(?<![^\s,\[{:])\*([^\s,\[\]{}]+)"
_NESTED = rf"(?m)^[ \t]*(?:[-?][ \t]+){{{MOST_INDICATORS + 1}}}"
LARGEST = 1_000_000
"""Bytes; whatever is larger is no text that somebody wrote for a prompt."""


class BadResource(PiError):
    """A file that cannot be used, and why."""


class Document(Record):
    """A file in two parts."""

    meta: dict[str, Any]
    body: str
    has_meta: bool


def parse_document(text: str) -> Document:
    """The parts of ``text``; ``BadResource`` when the front matter is broken."""
    front, body = split_front_matter(text)
    if front is None:
        return Document(meta={}, body=body, has_meta=False)
    _check_bounds(front)
    # Here, not above: most starts meet no front matter.
    from yaml12 import parse_yaml

    try:
        meta = parse_yaml(front) if front.strip() else {}
    except ValueError as problem:
        raise BadResource(f"the front matter is not valid YAML ({problem})") from problem
    if not isinstance(meta, dict):
        raise BadResource("the front matter is not a list of names and values")
    named = {str(name): value for name, value in meta.items()}
    return Document(meta=named, body=body.strip(), has_meta=True)


def _check_bounds(front: str) -> None:
    """Refuse YAML that is small and takes gigabytes or the whole stack, before it is parsed."""
    if len(front) > LARGEST_FRONT_MATTER:
        raise BadResource(f"the front matter is larger than {LARGEST_FRONT_MATTER} characters")
    if re.search(_NESTED, front):
        raise BadResource(f"the front matter nests more than {MOST_INDICATORS} lists on one line")
    # At worst each alias doubles everything before it. Emphasis (*so*) and globs are no aliases.
    anchors = {name.rstrip(":") for name in re.findall(_ANCHORS, front)}
    aliases = sum(name.rstrip(":") in anchors for name in re.findall(_ALIASES, front))
    if len(front) << aliases > LARGEST_EXPANDED:
        raise BadResource(
            f"the front matter has {aliases} YAML aliases, which may expand to more than "
            f"{LARGEST_EXPANDED >> 20} MiB; write the values out"
        )


def split_front_matter(text: str) -> tuple[str | None, str]:
    """What stands between the dashes, if there are any, and the rest; lines end alike."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    fenced = re.match(_FENCED, text)
    return (None, text) if fenced is None else (fenced["yaml"], fenced["body"])


def read_document(path: Path) -> Document:
    """The parts of a file; ``BadResource`` when it cannot be read or understood."""
    return parse_document(read_text(path))


def read_text(path: Path) -> str:
    """What a file says; ``BadResource`` when it cannot be read or is no text."""
    try:
        data = read_regular(path, most=LARGEST)
    except OSError as problem:
        raise BadResource(problem.strerror or str(problem)) from problem
    try:
        return data.decode()
    except UnicodeDecodeError as problem:
        raise BadResource("the file is not UTF-8 text") from problem

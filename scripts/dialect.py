"""The words of the private dialect that this code base is leaving, and a search for them.

The list is here and nowhere else: ``scripts/figures`` counts with it, and a test checks the count.
``WORDS`` and ``PHRASES`` count everywhere: in prose, and as parts of identifiers in snake_case and
CamelCase. ``NAMES`` and ``SOURCE_NAMES`` are ordinary words in prose ("written elsewhere") but no
terms for parts of a program. They count as identifiers of Python code, as parts of longer
identifiers, and elsewhere when capitalised like a class, i.e. not as the first word of a sentence.

Quotations are listed in ``scripts/dialect-allowed.txt``, one ``path: fragment`` per line: what
stands inside that fragment of that file does not count.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

WORDS = frozenset(
    {"nobody", "somebody", "whoever", "anybody", "everybody", "whom"}
    | {"told", "tell", "tells", "telling"}
    | {"lender", "lenders", "shelf", "shelves", "surroundings"}
)
PHRASES = ("gives what", "the person", "in vain", "says so")
NAMES = frozenset({"ground", "world", "elsewhere", "wanted", "wish", "wishes", "brought"})
SOURCE_NAMES = frozenset({"said", "asked", "meant", "heard", "spoken", "lent"})
"""Counted like ``NAMES``, but not in tests, whose names are sentences: a variable ``said`` does not
say whether it holds an answer, a message or the errors of a program."""

GROUPS: Mapping[str, tuple[str, ...]] = {
    "src": ("src/",),
    "docs": ("docs/", "changes/", "*.md"),
    "tests": ("tests/",),
    "bench, scripts, examples": ("bench/", "scripts/", "examples/"),
}
"""The places where words are counted: folders, and files of the root by their names."""

ALLOWED = Path(__file__).with_name("dialect-allowed.txt")
_SUFFIXES = frozenset({"", ".py", ".md", ".toml", ".txt", ".sh", ".js", ".cjs", ".mjs", ".html"})
"""Text that contributors write. Recorded exchanges and sessions are data."""
_OWN = frozenset({"scripts/dialect.py", "scripts/dialect-allowed.txt"})
"""They consist of the words themselves."""

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_GAP = r"[\s_#]+"
"""What may stand between the words of a phrase: also the end of a line of a comment."""
_PHRASE = re.compile(
    "|".join(rf"(?<![a-z]){_GAP.join(phrase.split())}(?![a-z])" for phrase in PHRASES),
    re.IGNORECASE,
)
_APART = re.compile(r"[^.;:]{0,40}?\bapart\b")
"""What follows where two things are told apart, which is plain English."""
_NO_CODE = re.compile(
    r'("""|\'\'\')(?:\\.|(?!\1).)*\1|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|#[^\n]*', re.DOTALL
)
"""Strings and comments of Python. Strings with fields count as strings on every Python version."""


class Match(NamedTuple):
    """One occurrence in a text."""

    line: int
    word: str
    """In lower case."""
    start: int
    end: int


def find(
    text: str, *, is_python: bool = False, names: frozenset[str] = NAMES | SOURCE_NAMES
) -> list[Match]:
    """Every dialect word of ``text`` in order; ``names`` count as identifiers only."""
    found = []
    lowered = text.lower()
    if any(word in lowered for word in WORDS | names):  # few files have one; the others are fast
        code = _code_spans(text) if is_python else ()
        found = [_match(text, *span) for span in _word_spans(text, code, names)]
    found += [_match(text, *phrase.span()) for phrase in _PHRASE.finditer(text)]
    return sorted(found, key=lambda match: match.start)


def find_in_checkout(root: Path, group: str) -> dict[str, list[Match]]:
    """The words in the files of a group of ``GROUPS`` by path, without those that are allowed."""
    allowed = read_allowed(root / "scripts" / ALLOWED.name)
    names = NAMES if group == "tests" else NAMES | SOURCE_NAMES
    found = {}
    for path in _files(root, GROUPS[group]):
        file = root / path
        try:
            text = file.read_text(encoding="utf-8")
        except UnicodeDecodeError:  # a file of bytes without a suffix
            continue
        is_python = path.endswith(".py") or text.startswith("#!/usr/bin/env py")
        matches = find(text, is_python=is_python, names=names)
        if remaining := without_allowed(text, matches, allowed.get(path, ())):
            found[path] = remaining
    return found


def read_allowed(file: Path) -> dict[str, list[str]]:
    """The allowed fragments by path; a checkout without the file allows nothing."""
    allowed: dict[str, list[str]] = {}
    for line in file.read_text(encoding="utf-8").splitlines() if file.is_file() else ():
        path, separator, fragment = line.partition(": ")
        if line.startswith("#") or not line.strip():
            continue
        if not separator or not fragment.strip():
            raise ValueError(f"{file.name}: {line!r} has not the form 'path: fragment'.")
        allowed.setdefault(path, []).append(fragment.strip())
    return allowed


def without_allowed(text: str, matches: Sequence[Match], fragments: Sequence[str]) -> list[Match]:
    """The matches that are not inside one of the fragments."""
    spans = [
        found.span() for fragment in fragments for found in re.finditer(re.escape(fragment), text)
    ]
    return [
        match
        for match in matches
        if not any(start <= match.start and match.end <= end for start, end in spans)
    ]


def _match(text: str, start: int, end: int) -> Match:
    word = " ".join(re.split(_GAP, text[start:end].lower()))
    return Match(line=text.count("\n", 0, start) + 1, word=word, start=start, end=end)


def _word_spans(
    text: str, code: Sequence[tuple[int, int]], names: frozenset[str]
) -> Iterator[tuple[int, int]]:
    at = 0  # the first span of code that does not end before the identifier
    for identifier in _IDENTIFIER.finditer(text):
        while at < len(code) and code[at][1] <= identifier.start():
            at += 1
        for part in _PART.finditer(identifier[0]):
            word = part[0].lower()
            start = identifier.start() + part.start()
            end = start + len(word)
            if word in WORDS:
                if not (word.startswith(("tell", "told")) and _APART.match(text, end)):
                    yield start, end
            elif word in names:
                is_code = at < len(code) and code[at][0] <= start
                if is_code or part[0] != identifier[0] or _is_class_name(text, start, end):
                    yield start, end


def _is_class_name(text: str, start: int, end: int) -> bool:
    """Whether a word outside code is capitalised, and not because a sentence begins with it."""
    is_prose = re.compile(r" +[a-z]").match(text, end) or re.search(
        r"(?i)\bhello,? $", text[max(0, start - 8) : start]
    )
    return text[start].isupper() and not is_prose


def _code_spans(text: str) -> list[tuple[int, int]]:
    """The spans of a Python file that are neither strings nor comments."""
    spans, begin = [], 0
    for skipped in _NO_CODE.finditer(text):
        spans.append((begin, skipped.start()))
        begin = skipped.end()
    return [*spans, (begin, len(text))]


def _files(root: Path, places: Sequence[str]) -> Iterator[str]:
    """The files of ``places`` that git lists; all files if ``root`` is not a repository."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode == 0:
        paths = [path for path in listed.stdout.split("\0") if (root / path).is_file()]
    else:
        paths = [str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()]
    folders = tuple(place for place in places if place.endswith("/"))
    for path in sorted(set(paths) - _OWN):
        in_root = "/" not in path and any(Path(path).match(place) for place in places)
        if (path.startswith(folders) or in_root) and Path(path).suffix in _SUFFIXES:
            yield path

"""A search without ripgrep: ``python -m pi.coding.tools.python_search REQUEST``.

The request is a JSON object with the fields of ``Search`` and ``home``. Matches are written as
ripgrep writes them, see ``searching``; a pattern that is wrong ends it with exit code 2.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from pi.base.files import open_regular
from pi.coding.files.text import form_of
from pi.coding.files.walking import walk
from pi.coding.files.window import bounded_lines
from pi.coding.resources.globs import PatternTooLarge, compile_glob, expand_braces
from pi.coding.resources.ignoring import IgnoreTree
from pi.coding.tools.searching import LONGEST, Match, Search, rooted_glob

BINARY_SIGN = 8192
"""Bytes at the beginning of a file in which a zero byte says that it is no text."""
LONGEST_LINE = 16 * 1024 * 1024
"""Bytes of a line that are searched."""
WRONG = 2
"""Exit code for a pattern that cannot be used, as ripgrep's."""


def main(request: str) -> int:
    """Write every match, up to one more than the limit, and return the exit code."""
    fields = msgspec.json.decode(request)
    home, place = Path(fields.pop("home")), Path(fields.pop("place"))
    wanted = Search(place=place, **fields)
    try:
        for match in matches(wanted, home):
            sys.stdout.buffer.write(_line(match))
    except (re.error, PatternTooLarge) as problem:
        what = "regex parse error" if isinstance(problem, re.error) else "glob error"
        shown = wanted.pattern if isinstance(problem, re.error) else wanted.glob
        sys.stderr.write(f"{what}:\n    {shown}\nerror: {problem}\n")
        return WRONG
    return 0


def matches(wanted: Search, home: Path) -> Iterator[Match]:
    """The first ``limit`` matches and one more; ``re.error`` or ``PatternTooLarge`` if wrong."""
    expression = re.escape(wanted.pattern) if wanted.literal else wanted.pattern
    regex = re.compile(expression, re.IGNORECASE if wanted.ignore_case else 0)
    count = 0
    for path in _files(wanted, home):
        for match in _matches_in(wanted.folder / path, path, regex):
            yield match
            count += 1
            if count > wanted.limit:
                return


def _line(match: Match) -> bytes:
    path = f"./{match.path}".encode("utf-8", "surrogateescape")
    return b"%b\0%d:%b\n" % (path, match.number, match.text.encode("utf-8", "replace"))


def _files(wanted: Search, home: Path) -> Iterator[str]:
    if wanted.place.is_file():
        yield wanted.place.name
        return
    tree = IgnoreTree(wanted.folder, home=home, require_git=True)
    chosen = _glob_filter(wanted)
    for entry in walk(
        wanted.folder,
        ignores=lambda entry: entry.is_link or tree.ignores(entry.path, is_folder=entry.is_folder),
        stop=threading.Event(),  # whoever started this process ends it
    ):
        if not entry.is_folder and chosen(entry.path):
            yield entry.path


def _glob_filter(wanted: Search) -> Callable[[str], bool]:
    if not wanted.glob:
        return lambda path: True
    glob = rooted_glob(wanted.glob, wanted.folder)
    negated = glob[:1] == "!"
    pattern = glob[negated:]
    anchored = pattern.lstrip("/") if "/" in pattern else f"**/{pattern}"
    expand_braces(anchored)
    regex = compile_glob(anchored)
    return lambda path: (regex.fullmatch(path) is None) == negated


def _matches_in(file: Path, path: str, regex: re.Pattern[str]) -> Iterator[Match]:
    try:
        with open_regular(file) as opened:
            head = opened.read(BINARY_SIGN)
        if form_of(head).encoding == "utf-8" and b"\0" in head:
            return
        for number, line in enumerate(bounded_lines(file, longest=LONGEST_LINE), 1):
            text = line.decode("utf-8", "replace")
            if regex.search(text):
                yield Match(path, number, text.rstrip("\r")[:LONGEST])
    except OSError:
        return


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

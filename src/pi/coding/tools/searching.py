"""Lines that match, found by ripgrep, or without it by Python in a process of its own."""

from __future__ import annotations

import logging
import os
import re
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import NamedTuple

import msgspec

from pi.agent.tools.tool import ToolFailed
from pi.base.files import open_regular
from pi.base.records import Record
from pi.coding.files.text import bounded_lines, form_of
from pi.coding.resources.ignore import IgnoreTree, PatternTooLarge, compile_glob, expand_braces
from pi.coding.tools.listing import walk
from pi.coding.tools.programs import (
    NOT_ALL_READ,
    QUIET_SUCCESS,
    ProgramFailed,
    SearchPrograms,
    output_of,
)

log = logging.getLogger(__name__)


LONGEST = 1000
"""Characters of a line that are kept: more than is shown of it."""
MOST_COLUMNS = 4 * LONGEST + 96
"""Bytes of a line that ripgrep writes, so that its note on a cut is behind ``LONGEST``."""
LONGEST_RECORD = 256 * 1024
"""Bytes of a path, a number and a line that are read; of a longer record the rest is dropped."""
# Not --json: that lists every place in a line, 1.6 GB for a line of 30 MB, and knows no columns.
RG = (
    "--line-number",
    "--with-filename",
    "--no-heading",
    "--null",
    f"--max-columns={MOST_COLUMNS}",
    "--max-columns-preview",
    "--color=never",
    "--hidden",
    "--no-config",
    "--no-messages",
)
SORTED = "--sort=path"
UNKNOWN_OPTION = r"unrecognized flag|wasn't expected|unexpected argument"
"""What ripgrep says of an option that is too new for it, in its versions up to 15."""


class Match(NamedTuple):
    """A line that matches."""

    path: str
    """Relative to where the search began, or the name of the only file."""
    number: int
    text: str


class Search(Record):
    """What is looked for, and where."""

    pattern: str
    place: Path
    """A file or a folder."""
    glob: str = ""
    ignore_case: bool = False
    literal: bool = False
    limit: int = 100

    @property
    def folder(self) -> Path:
        """Where globs and found paths begin."""
        return self.place.parent if self.place.is_file() else self.place


async def search(wanted: Search, programs: SearchPrograms, *, home: Path) -> list[Match]:
    """The first ``limit`` matches and one more, if there is one, sorted by path and line."""
    env = programs.environment
    if programs.rg is not None:
        try:
            return sorted(await _rg_found(wanted, programs.rg, env))
        except ProgramFailed as problem:
            if _is_about_the_search(problem):
                raise ToolFailed(_complaint(problem.errors, wanted.pattern)) from problem
            log.warning("%s; Python searches instead", problem.message)
    try:
        return sorted(await _first(wanted, _python_command(wanted, home), env))
    except ProgramFailed as problem:
        raise ToolFailed(problem.errors or problem.message) from problem


def rooted_glob(glob: str, folder: Path) -> str:
    """An absolute pattern as seen from ``folder``; others as they are."""
    negated = glob[:1] == "!"
    pattern = glob[negated:]
    start = f"{folder}/".replace(os.sep, "/").replace("//", "/")
    if not pattern.startswith(start):
        return glob
    return "!" * negated + "/" + pattern.removeprefix(start)


# ripgrep -----------------------------------------------------------------------------------------


async def _rg_found(wanted: Search, rg: str, env: dict[str, str]) -> list[Match]:
    command = _rg_command(wanted)
    found = await _first(wanted, [rg, *RG, *command], env)
    if len(found) > wanted.limit and wanted.place == wanted.folder:
        # Which of them many threads met first was luck. One alone keeps the order, and is
        # done as soon as there are enough.
        found = await _first(wanted, [rg, *RG, SORTED, *command], env)
    return found


def _rg_command(wanted: Search) -> list[str]:
    command = ["--ignore-case"] if wanted.ignore_case else []
    command += ["--fixed-strings"] if wanted.literal else []
    command += [f"--glob={rooted_glob(wanted.glob, wanted.folder)}"] if wanted.glob else []
    # A file that was named is searched even if it is not text, as it is without this option when
    # ripgrep writes JSON.
    command += ["--text"] if wanted.place.is_file() else []
    target = wanted.place.name if wanted.place.is_file() else ""
    # After -- nothing is an option, whatever it looks like; ./ keeps a file called - a file.
    return [*command, "--", wanted.pattern, f"./{target}"]


def _python_command(wanted: Search, home: Path) -> list[str]:
    """In a process of its own: Python's expressions can take for ever, and cannot be stopped."""
    place = {"place": str(wanted.place), "home": str(home)}
    request = msgspec.json.encode({**msgspec.structs.asdict(wanted), **place}).decode()
    return [sys.executable, "-P", "-m", "pi.coding.tools.searching", request]


async def _first(wanted: Search, command: list[str], env: dict[str, str]) -> list[Match]:
    found: list[Match] = []
    async with aclosing(_matches(wanted, command, env)) as matches:
        async for match in matches:
            found.append(match)
            if len(found) > wanted.limit:
                break
    return found


async def _matches(
    wanted: Search, command: list[str], env: dict[str, str]
) -> AsyncGenerator[Match, None]:
    output = output_of(
        command,
        cwd=wanted.folder,
        env=env,
        quiet_success=QUIET_SUCCESS,
    )
    async with aclosing(output) as pieces:
        reader = _MatchReader(Path(command[0]).name)
        async for piece in pieces:
            for match in reader.feed(piece):
                yield match


class _MatchReader:
    """Reads records ``./path NUL number:line LF``; a path may hold line feeds, a line cannot."""

    def __init__(self, program: str) -> None:
        self._program = program
        self._path: bytes | None = None
        self._held = b""

    def feed(self, piece: bytes) -> Iterator[Match]:
        """The matches that ``piece`` completes; ``ProgramFailed`` if it is something else."""
        rest = piece
        while rest:
            field, end, rest = rest.partition(b"\0" if self._path is None else b"\n")
            self._held += field[: LONGEST_RECORD - len(self._held)]
            if self._path is None and not self._held.startswith(b"./"[: len(self._held)]):
                raise ProgramFailed(self._program, "wrote something else than matches")
            if not end:
                return
            if self._path is None:
                # Before it may stand a note, such as of a binary file, which is a line of its own.
                self._path = self._held[self._held.rfind(b"\n./") + 1 :]
            else:
                yield self._match(self._path, self._held)
                self._path = None
            self._held = b""

    def _match(self, path: bytes, line: bytes) -> Match:
        number, _, text = line.partition(b":")
        if not number.isdigit():
            raise ProgramFailed(self._program, "wrote something else than matches")
        name = path.decode("utf-8", "replace").replace(os.sep, "/").removeprefix("./")
        return Match(name, int(number), text.decode("utf-8", "replace").rstrip("\r")[:LONGEST])


def _is_about_the_search(problem: ProgramFailed) -> bool:
    """Whether ripgrep objects to the pattern or the glob, and not to an option of ours."""
    refused = problem.end is not None and problem.end.exit_code == NOT_ALL_READ
    return refused and bool(problem.errors) and not re.search(UNKNOWN_OPTION, problem.errors)


def _complaint(errors: str, pattern: str) -> str:
    """What ripgrep says of a pattern, about the pattern as it was given.

    It puts a group around it, which moves the mark below by three places.
    """
    lines = errors.removeprefix("rg: ").split("\n")
    for number, line in enumerate(lines[:-1]):
        if line.strip() == f"(?:{pattern})":
            lines[number] = line.replace(f"(?:{pattern})", pattern, 1)
            mark = lines[number + 1]
            lines[number + 1] = mark[:4] + mark[4:].removeprefix("   ")
    return "\n".join(lines)


# A search without ripgrep: ``python -m pi.coding.tools.searching REQUEST``.
#
# The request is a JSON object with the fields of ``Search`` and ``home``. Matches are written as
# ripgrep writes them, see ``searching``; a pattern that is wrong ends it with exit code 2.


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

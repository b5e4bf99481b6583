"""Searches lines with ripgrep, or with Python in a process of its own if ripgrep is missing.

The Python search is ``python -m pi.coding.tools.searching`` and reads its request, a JSON object
with the fields of ``Search`` and ``home``, from standard input. Matches are written in
ripgrep's format; an invalid pattern ends it with exit code 2.
"""

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
    MAX_ARGUMENT_BYTES,
    RG_ERROR_EXIT_CODE,
    RG_QUIET_EXIT_CODES,
    ProgramFailed,
    SearchPrograms,
    read_program_output,
)

log = logging.getLogger(__name__)


MAX_MATCH_CHARACTERS = 1000
"""Characters of a line that are kept; fewer are shown."""
MAX_COLUMNS = 4 * MAX_MATCH_CHARACTERS + 96
"""Columns of a line that ripgrep writes: enough that ``MAX_MATCH_CHARACTERS`` cuts off its note
about truncation."""
MAX_RECORD_BYTES = 256 * 1024
"""Size of a path, number and line; a program that writes more does not write matches."""
# Not --json: it lists every match in a line, 1.6 GB for a line of 30 MB, and ignores max-columns.
RG = (
    "--line-number",
    "--with-filename",
    "--no-heading",
    "--null",
    f"--max-columns={MAX_COLUMNS}",
    "--max-columns-preview",
    "--color=never",
    "--hidden",
    "--no-config",
    "--no-messages",
)
SORTED = "--sort=path"
UNKNOWN_OPTION = r"unrecognized flag|wasn't expected|unexpected argument"
"""How ripgrep up to version 15 reports an option that it does not know."""


class Match(NamedTuple):
    """A matching line."""

    path: str
    """Relative to the search root, or the name of the searched file."""
    number: int
    text: str


class Search(Record):
    """A search request."""

    pattern: str
    path: Path
    """A file or a folder."""
    glob: str = ""
    ignore_case: bool = False
    literal: bool = False
    limit: int = 100

    @property
    def folder(self) -> Path:
        """The folder that globs and found paths are relative to."""
        return self.path.parent if self.path.is_file() else self.path


async def search(
    query: Search,
    programs: SearchPrograms,
    *,
    home: Path,
    is_visible: Callable[[Path], bool] | None = None,
) -> list[Match]:
    """Return up to ``limit`` + 1 matches, sorted by path and line. Raises ``ToolFailed``.

    Files for which ``is_visible`` returns False are left out.
    """
    env = programs.environment
    if len(query.glob.encode("utf-8", "replace")) > MAX_ARGUMENT_BYTES:
        raise ToolFailed(
            f"The glob is longer than {MAX_ARGUMENT_BYTES:,} bytes. Use a shorter one, or several"
            " searches."
        )
    if programs.rg is not None:
        try:
            return sorted(await _rg_found(query, programs.rg, env, is_visible))
        except ProgramFailed as error:
            if _is_about_the_search(error):
                raise ToolFailed(_error_message(error.errors, query.pattern)) from error
            log.warning("%s; falling back to the Python search", error.message)
    try:
        return sorted(await _first_matches(query, _python_search(query, home), env, is_visible))
    except ProgramFailed as error:
        raise ToolFailed(error.errors or error.message) from error


def rooted_glob(glob: str, folder: Path) -> str:
    """Return an absolute pattern relative to ``folder``, and others without a leading ``./``."""
    negated = glob[:1] == "!"
    pattern = glob[negated:]
    if pattern.startswith("./"):
        return "!" * negated + pattern.removeprefix("./")
    start = f"{folder}/".replace(os.sep, "/").replace("//", "/")
    if not pattern.startswith(start):
        return glob
    return "!" * negated + "/" + pattern.removeprefix(start)


async def _rg_found(
    query: Search, rg: str, env: dict[str, str], is_visible: Callable[[Path], bool] | None
) -> list[Match]:
    command, patterns = _rg_command(query)
    matches = await _first_matches(query, _Command([rg, *RG, *command], patterns), env, is_visible)
    if len(matches) > query.limit and query.path == query.folder:
        # With several threads the first matches are random. Sorted output uses one thread and
        # ends as soon as there are enough matches.
        in_order = _Command([rg, *RG, SORTED, *command], patterns)
        matches = await _first_matches(query, in_order, env, is_visible)
    return matches


class _Command(NamedTuple):
    words: list[str]
    input: bytes | None


def _rg_command(query: Search) -> _Command:
    command = ["--ignore-case"] if query.ignore_case else []
    command += ["--fixed-strings"] if query.literal else []
    command += [f"--glob={rooted_glob(query.glob, query.folder)}"] if query.glob else []
    # A file that was named is searched even if it is binary, as ripgrep's JSON mode does.
    command += ["--text"] if query.path.is_file() else []
    target = query.path.name if query.path.is_file() else ""
    # After -- nothing is parsed as an option; ./ is for a file named "-".
    pattern = query.pattern.encode("utf-8", "replace")
    if len(pattern) <= MAX_ARGUMENT_BYTES:
        return _Command([*command, "--", query.pattern, f"./{target}"], None)
    if b"\n" in pattern:  # ripgrep would take every line of its input for a pattern of its own
        raise ToolFailed(
            "A pattern cannot contain line ends: lines are searched one by one. Leave them out."
        )
    return _Command([*command, "--file=-", "--", f"./{target}"], pattern)


def _python_search(query: Search, home: Path) -> _Command:
    """Return the command of the Python search.

    It is a separate process, because a Python regular expression can run forever and cannot be
    cancelled.
    """
    paths = {"path": str(query.path), "home": str(home)}
    request = msgspec.json.encode({**msgspec.structs.asdict(query), **paths})
    return _Command([sys.executable, "-P", "-m", "pi.coding.tools.searching"], request)


async def _first_matches(
    query: Search,
    command: _Command,
    env: dict[str, str],
    is_visible: Callable[[Path], bool] | None,
) -> list[Match]:
    visible_matches: list[Match] = []
    visible: dict[str, bool] = {}
    async with aclosing(_run_search(query, command, env)) as matches:
        async for match in matches:
            if is_visible is not None:
                if match.path not in visible:
                    visible[match.path] = is_visible(query.folder / match.path)
                if not visible[match.path]:
                    continue
            visible_matches.append(match)
            if len(visible_matches) > query.limit:
                break
    return visible_matches


async def _run_search(
    query: Search, command: _Command, env: dict[str, str]
) -> AsyncGenerator[Match, None]:
    output = read_program_output(
        command.words,
        cwd=query.folder,
        env=env,
        quiet_success=RG_QUIET_EXIT_CODES,
        input=command.input,
    )
    async with aclosing(output) as pieces:
        reader = _MatchReader(Path(command.words[0]).name)
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
        """Yield the matches that ``piece`` completes. Raises ``ProgramFailed`` for other output."""
        rest = piece
        while rest:
            field, end, rest = rest.partition(b"\0" if self._path is None else b"\n")
            self._held += field
            start = b"./" if end else b"./"[: len(self._held)]
            is_path = self._path is not None or self._held.startswith(start)
            if not is_path or len(self._held) > MAX_RECORD_BYTES:
                raise ProgramFailed(self._program, "wrote something else than matches")
            if not end:
                return
            if self._path is None:
                # A note, such as "binary file matches", may precede it on a line of its own.
                self._path = self._held[self._held.rfind(b"\n./") + 1 :]
            else:
                yield self._parse_match(self._path, self._held)
                self._path = None
            self._held = b""

    def _parse_match(self, path: bytes, line: bytes) -> Match:
        number, _, text = line.partition(b":")
        if not number.isdigit():
            raise ProgramFailed(self._program, "wrote something else than matches")
        name = path.decode("utf-8", "replace").replace(os.sep, "/").removeprefix("./")
        return Match(
            name, int(number), text.decode("utf-8", "replace").rstrip("\r")[:MAX_MATCH_CHARACTERS]
        )


def _is_about_the_search(error: ProgramFailed) -> bool:
    """Whether ripgrep rejected the pattern or the glob, and not one of our options."""
    refused = error.end is not None and error.end.exit_code == RG_ERROR_EXIT_CODE
    return refused and bool(error.errors) and not re.search(UNKNOWN_OPTION, error.errors)


def _error_message(errors: str, pattern: str) -> str:
    """Return ripgrep's error message for the pattern as it was given.

    ripgrep wraps the pattern in ``(?:...)``, which moves the caret below it by three columns.
    """
    lines = errors.removeprefix("rg: ").split("\n")
    for number, line in enumerate(lines[:-1]):
        if line.strip() == f"(?:{pattern})":
            lines[number] = line.replace(f"(?:{pattern})", pattern, 1)
            mark = lines[number + 1]
            lines[number + 1] = mark[:4] + mark[4:].removeprefix("   ")
    return "\n".join(map(_shorten, lines))


def _shorten(line: str) -> str:
    """Return the start of a long line: a pattern may have 200,000 characters."""
    return line if len(line) <= MAX_MATCH_CHARACTERS else f"{line[:200]}…"


BINARY_CHECK_BYTES = 8192
"""A zero byte among the first bytes marks a file as binary."""
MAX_LINE_BYTES = 16 * 1024 * 1024
"""Part of a line that is searched."""
EXIT_INVALID_PATTERN = 2
"""The same exit code as ripgrep's."""


def main(request: bytes) -> int:
    """Write every match, up to one more than the limit, and return the exit code."""
    fields = msgspec.json.decode(request)
    home, path = Path(fields.pop("home")), Path(fields.pop("path"))
    query = Search(path=path, **fields)
    try:
        for match in matches(query, home):
            sys.stdout.buffer.write(_format_match(match))
    except (re.error, PatternTooLarge) as error:
        what = "regex parse error" if isinstance(error, re.error) else "glob error"
        invalid_pattern = query.pattern if isinstance(error, re.error) else query.glob
        sys.stderr.write(f"{what}:\n    {_shorten(invalid_pattern)}\nerror: {error}\n")
        return EXIT_INVALID_PATTERN
    return 0


def matches(query: Search, home: Path) -> Iterator[Match]:
    """Yield up to ``limit`` + 1 matches. Raises ``re.error`` or ``PatternTooLarge``."""
    expression = re.escape(query.pattern) if query.literal else query.pattern
    regex = re.compile(expression, re.IGNORECASE if query.ignore_case else 0)
    count = 0
    for path in _candidate_files(query, home):
        for match in _matches_in(query.folder / path, path, regex):
            yield match
            count += 1
            if count > query.limit:
                return


def _format_match(match: Match) -> bytes:
    path = f"./{match.path}".encode("utf-8", "surrogateescape")
    return b"%b\0%d:%b\n" % (path, match.number, match.text.encode("utf-8", "replace"))


def _candidate_files(query: Search, home: Path) -> Iterator[str]:
    if query.path.is_file():
        yield query.path.name
        return
    tree = IgnoreTree(query.folder, home=home, require_git=True)
    chosen = _glob_filter(query)
    for entry in walk(
        query.folder,
        ignores=lambda entry: entry.is_link or tree.ignores(entry.path, is_folder=entry.is_folder),
        stop=threading.Event(),  # never set: the parent process terminates this one
    ):
        if not entry.is_folder and chosen(entry.path):
            yield entry.path


def _glob_filter(query: Search) -> Callable[[str], bool]:
    if not query.glob:
        return lambda path: True
    glob = rooted_glob(query.glob, query.folder)
    negated = glob[:1] == "!"
    pattern = glob[negated:]
    anchored = pattern.lstrip("/") if "/" in pattern else f"**/{pattern}"
    expand_braces(anchored)
    regex = compile_glob(anchored)
    return lambda path: (regex.fullmatch(path) is None) == negated


def _matches_in(file: Path, path: str, regex: re.Pattern[str]) -> Iterator[Match]:
    try:
        with open_regular(file) as opened:
            head = opened.read(BINARY_CHECK_BYTES)
        if form_of(head).encoding == "utf-8" and b"\0" in head:
            return
        for number, line in enumerate(bounded_lines(file, longest=MAX_LINE_BYTES), 1):
            text = line.decode("utf-8", "replace")
            if regex.search(text):
                yield Match(path, number, text.rstrip("\r")[:MAX_MATCH_CHARACTERS])
    except OSError:
        return


if __name__ == "__main__":
    sys.exit(main(sys.stdin.buffer.read()))

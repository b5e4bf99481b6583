"""Lines that match, found by ripgrep, or without it by a walk with Python's own expressions."""

from __future__ import annotations

import asyncio
import base64
import os
import re
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import NamedTuple

import msgspec

from pi.agent.tool import ToolFailed
from pi.base.files import may_never_end
from pi.base.processes import Child, spawn
from pi.base.records import Record
from pi.coding.files.text import form_of, shown_text
from pi.coding.files.walking import walk
from pi.coding.resources.globs import compile_glob
from pi.coding.resources.ignoring import IgnoreTree
from pi.coding.tools.programs import SearchPrograms

RG = ("--json", "--line-number", "--color=never", "--hidden", "--no-config", "--no-messages")
SORTED = "--sort=path"
READ_SIZE = 65536
LONGEST = 1000
"""Characters of a line that are kept: more than anybody is shown of it."""
MOST_ERRORS = 20_000
BINARY_SIGN = 8192
"""Bytes at the beginning of a file in which a zero byte says that it is no text."""


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
    if programs.rg is None:
        found = await _in_thread(lambda stop: _python_search(wanted, home, stop))
    else:
        found = await _rg_first(wanted, [programs.rg, *RG], programs.environment)
        if len(found) > wanted.limit and wanted.place == wanted.folder:
            # Which of them many threads met first was luck. One alone keeps the order, and is
            # done as soon as there are enough.
            found = await _rg_first(wanted, [programs.rg, *RG, SORTED], programs.environment)
    return sorted(found)


def rooted_glob(glob: str, folder: Path) -> str:
    """An absolute pattern as seen from ``folder``; others as they are."""
    negated = glob[:1] == "!"
    pattern = glob[negated:]
    start = f"{folder}/".replace(os.sep, "/").replace("//", "/")
    if not pattern.startswith(start):
        return glob
    return "!" * negated + "/" + pattern.removeprefix(start)


# ripgrep -----------------------------------------------------------------------------------------


class _Bytes(msgspec.Struct):
    """Text, or base64 of what is no text."""

    text: str | None = None
    bytes: str = ""

    def __str__(self) -> str:
        if self.text is not None:
            return self.text
        return base64.b64decode(self.bytes).decode("utf-8", "replace")


class _Data(msgspec.Struct):
    path: _Bytes
    lines: _Bytes
    line_number: int


class _Line(msgspec.Struct):
    data: _Data


_decode = msgspec.json.Decoder(_Line).decode


async def _rg_first(wanted: Search, program: list[str], env: dict[str, str]) -> list[Match]:
    found: list[Match] = []
    async with aclosing(_rg_search(wanted, program, env)) as matches:
        async for match in matches:
            found.append(match)
            if len(found) > wanted.limit:
                break
    return found


async def _rg_search(
    wanted: Search, program: list[str], env: dict[str, str]
) -> AsyncGenerator[Match, None]:
    command = [*program]
    command += ["--ignore-case"] if wanted.ignore_case else []
    command += ["--fixed-strings"] if wanted.literal else []
    command += [f"--glob={rooted_glob(wanted.glob, wanted.folder)}"] if wanted.glob else []
    target = wanted.place.name if wanted.place.is_file() else ""
    # After -- nothing is an option, whatever it looks like; ./ keeps a file called - a file.
    command += ["--", wanted.pattern, f"./{target}"]
    async with await spawn(command, cwd=wanted.folder, env=env, errors="separate") as child:
        async for line in _lines(child):
            if line.startswith(b'{"type":"match"'):
                data = _decode(line).data
                path = str(data.path).replace(os.sep, "/")
                text = str(data.lines).rstrip("\r\n")
                yield Match(path.removeprefix("./"), data.line_number, text[:LONGEST])
        errors = (await child.errors.read(MOST_ERRORS)).decode("utf-8", "replace").strip()
        end = await child.wait()
    if end.exit_code not in (0, 1) and errors:
        raise ToolFailed(_complaint(errors, wanted.pattern))


async def _lines(child: Child) -> AsyncIterator[bytes]:
    begun: list[bytes] = []
    while data := await child.output.read(READ_SIZE):
        first, *lines = data.split(b"\n")
        begun.append(first)
        for line in lines:
            yield b"".join(begun)
            begun = [line]


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


# Python ------------------------------------------------------------------------------------------


async def _in_thread(work: Callable[[threading.Event], list[Match]]) -> list[Match]:
    stop = threading.Event()
    try:
        return await asyncio.to_thread(work, stop)
    finally:
        stop.set()  # a thread cannot be cancelled, but it can be told


def _python_search(wanted: Search, home: Path, stop: threading.Event) -> list[Match]:
    expression = re.escape(wanted.pattern) if wanted.literal else wanted.pattern
    try:
        regex = re.compile(expression, re.IGNORECASE if wanted.ignore_case else 0)
    except re.error as problem:
        raise ToolFailed(f"regex parse error:\n    {wanted.pattern}\nerror: {problem}") from problem
    found: list[Match] = []
    for path in _files(wanted, home, stop):
        found += _matches_in(wanted.folder / path, path, regex)
        if len(found) > wanted.limit or stop.is_set():
            return found[: wanted.limit + 1]
    return found


def _files(wanted: Search, home: Path, stop: threading.Event) -> Iterator[str]:
    if wanted.place.is_file():
        yield wanted.place.name
        return
    tree = IgnoreTree(wanted.folder, home=home, require_git=True)
    chosen = _glob_filter(wanted)
    for entry in walk(
        wanted.folder,
        ignores=lambda entry: entry.is_link or tree.ignores(entry.path, is_folder=entry.is_folder),
        stop=stop,
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
    regex = compile_glob(anchored)
    return lambda path: (regex.fullmatch(path) is None) == negated


def _matches_in(file: Path, path: str, regex: re.Pattern[str]) -> Iterator[Match]:
    try:
        if may_never_end(file):
            return
        data = file.read_bytes()
    except OSError:
        return
    if form_of(data).encoding == "utf-8" and b"\0" in data[:BINARY_SIGN]:
        return
    text = shown_text(data)
    for number, line in enumerate(text.removesuffix("\n").split("\n") if text else (), 1):
        if regex.search(line):
            yield Match(path, number, line.rstrip("\r")[:LONGEST])

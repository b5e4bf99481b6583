"""The git branch of a folder, read from git's own files.

The program ``git`` is never started: a repository's configuration can name programs that git runs,
and nobody has said that this repository may run any.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

from pi.base.files import open_regular

DETACHED = "detached"
LARGEST = 65_536
"""Bytes that are read of one file. HEAD has one line; in a table it is in the first block."""
LARGEST_NUMBER = 2**64
MOST_TABLES = 32
"""How many tables of references are looked into; git merges them long before."""

_BRANCHES = "ref: refs/heads/"
_REFTABLE = ".invalid"
"""What HEAD names where references are kept in tables."""
_SYMBOLIC = 3
"""The kind of record that names another reference."""


async def branch_of(cwd: Path) -> str | None:
    """The branch, ``detached`` if there is none, or empty outside of a repository.

    ``None`` if it cannot be told now: git's files are being replaced, or no file can be opened.
    """
    try:
        # A network drive must not stop the screen.
        return await asyncio.to_thread(_branch, cwd)
    except (OSError, ValueError):
        return None


def _branch(cwd: Path) -> str:
    git_dir = _git_dir(cwd)
    if git_dir is None:
        return ""
    head = _start_of(git_dir / "HEAD").decode("utf-8")
    if head.strip() == f"{_BRANCHES}{_REFTABLE}":
        head = _head_of_tables(git_dir / "reftable")
    return head.removeprefix(_BRANCHES).strip() if head.startswith(_BRANCHES) else DETACHED


def _git_dir(cwd: Path) -> Path | None:
    """Where HEAD lies; ``None`` outside of a repository."""
    for folder in (cwd, *cwd.parents):
        found = folder / ".git"
        if found.is_file():  # a worktree or a submodule: a file that names the real folder
            found = folder / _start_of(found).decode("utf-8").removeprefix("gitdir:").strip()
        if found.is_dir():
            return found
    return None


def _start_of(path: Path) -> bytes:
    """The first bytes of a regular file; ``OSError`` for a pipe or a device, which could block."""
    with open_regular(path, buffering=0) as file:
        return file.read(LARGEST)


# Tables of references -----------------------------------------------------------------------------


def _head_of_tables(folder: Path) -> str:
    """What HEAD says as the files of git would say it; empty if no table has it.

    The newest table that has a record of HEAD counts. ``ValueError`` if a table is damaged.
    """
    names = _start_of(folder / "tables.list").decode("utf-8").split()
    for name in list(reversed(names))[:MOST_TABLES]:
        if "/" in name or "\\" in name:
            raise ValueError(f"{name} is not the name of a table")
        try:
            for kind, target in _head_records(_start_of(folder / name)):
                return f"ref: {target}" if kind == _SYMBOLIC else ""
        except IndexError as problem:
            raise ValueError(f"{name} ends in the middle of a record") from problem
    return ""


def _head_records(table: bytes) -> Iterator[tuple[int, str]]:
    """The kind and the target of HEAD in one table, if it has it.

    A header, then blocks of records sorted by name. Names share a prefix with the record before.
    """
    if table[:4] != b"REFT":
        raise ValueError("not a table of references")
    header, hash_size = (24, 20) if table[4] == 1 else (28, 32 if table[24:28] == b"s256" else 20)
    if table[header : header + 1] != b"r":
        return  # a table without references: of their history only
    block_end = int.from_bytes(table[header + 1 : header + 4])
    restarts = int.from_bytes(table[block_end - 2 : block_end])
    end = min(block_end, len(table)) - 2 - 3 * restarts
    name, at = b"", header + 4
    while at < end and name < b"HEAD":
        shared, at = _number(table, at)
        packed, at = _number(table, at)
        length, kind = packed >> 3, packed & 7
        name, at = name[:shared] + table[at : at + length], at + length
        _, at = _number(table, at)  # which update wrote it
        target = b""
        if kind == _SYMBOLIC:
            size, at = _number(table, at)
            target, at = table[at : at + size], at + size
        else:
            at += kind * hash_size  # none for a deletion, one for a commit, two for a tag
        if name == b"HEAD":
            yield kind, target.decode("utf-8")


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A number of as many bytes as it needs, and where it ends."""
    byte = data[at]
    value = byte & 0x7F
    while byte & 0x80:
        at += 1
        byte = data[at]
        value = (value + 1) << 7 | byte & 0x7F
        if value > LARGEST_NUMBER:
            raise ValueError("a number of more than 64 bits")
    return value, at + 1

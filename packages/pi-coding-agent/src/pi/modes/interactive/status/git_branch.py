"""The branch of a Git repository, read from its files."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from pi.base.files import open_regular

DETACHED = "detached"
LARGEST = 65_536
"""Maximum bytes read of one file. HEAD has one line; a table has it in its first block."""
LARGEST_NUMBER = 2**64
MAX_TABLES = 32
"""Maximum number of reference tables; git merges them long before."""

_BRANCHES = "ref: refs/heads/"
_REFTABLE = ".invalid"
"""The target of HEAD in repositories with reference tables."""
_SYMBOLIC = 3
"""Record type of a symbolic reference."""


async def branch_of(cwd: Path) -> str | None:
    """Return the branch, ``detached`` if there is none, or empty outside of a repository.

    ``None`` if it is unknown now: git's files are being replaced, or no file can be opened.
    """
    try:
        # In a thread: a network drive must not block the screen.
        return await asyncio.to_thread(_branch, cwd)
    except (OSError, ValueError):
        return None


def folder_of_head(cwd: Path) -> Path | None:
    """Return the folder in which git replaces the file that names the branch, if there is one."""
    with suppress(OSError, ValueError):
        git_dir = _git_dir(cwd)
        if git_dir is not None:
            tables = git_dir / "reftable"
            return tables if tables.is_dir() else git_dir
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
    """Return the folder of HEAD; ``None`` outside of a repository."""
    for folder in (cwd, *cwd.parents):
        git_dir = folder / ".git"
        if git_dir.is_file():  # a worktree or a submodule: a file that names the real folder
            git_dir = folder / _start_of(git_dir).decode("utf-8").removeprefix("gitdir:").strip()
        if git_dir.is_dir():
            return git_dir
    return None


def _start_of(path: Path) -> bytes:
    """Read the first bytes of a regular file.

    Raises ``OSError`` for a pipe or a device, which could block.
    """
    with open_regular(path, buffering=0) as file:
        return file.read(LARGEST)


def _head_of_tables(folder: Path) -> str:
    """Return HEAD in the format of git's files; empty if no table contains it.

    The newest table with a record of HEAD is used. Raises ``ValueError`` if a table is damaged.
    """
    names = _start_of(folder / "tables.list").decode("utf-8").split()
    for name in list(reversed(names))[:MAX_TABLES]:
        if "/" in name or "\\" in name:
            raise ValueError(f"{name} is not the name of a table")
        try:
            for kind, target in _head_records(_start_of(folder / name)):
                return f"ref: {target}" if kind == _SYMBOLIC else ""
        except IndexError as error:
            raise ValueError(f"{name} ends in the middle of a record") from error
    return ""


def _head_records(table: bytes) -> Iterator[tuple[int, str]]:
    """Return the type and the target of HEAD in one table, if it has it.

    A header, then blocks of records sorted by name. Names share a prefix with the record before.
    """
    if table[:4] != b"REFT":
        raise ValueError("not a table of references")
    header, hash_size = (24, 20) if table[4] == 1 else (28, 32 if table[24:28] == b"s256" else 20)
    if table[header : header + 1] != b"r":
        return  # a table without references: only their history
    block_end = int.from_bytes(table[header + 1 : header + 4])
    restarts = int.from_bytes(table[block_end - 2 : block_end])
    end = min(block_end, len(table)) - 2 - 3 * restarts
    name, offset = b"", header + 4
    while offset < end and name < b"HEAD":
        shared, offset = _number(table, offset)
        packed, offset = _number(table, offset)
        length, kind = packed >> 3, packed & 7
        name, offset = name[:shared] + table[offset : offset + length], offset + length
        _, offset = _number(table, offset)  # the update index
        target = b""
        if kind == _SYMBOLIC:
            size, offset = _number(table, offset)
            target, offset = table[offset : offset + size], offset + size
        else:
            offset += kind * hash_size  # none for a deletion, one for a commit, two for a tag
        if name == b"HEAD":
            yield kind, target.decode("utf-8")


def _number(data: bytes, offset: int) -> tuple[int, int]:
    """Decode a variable-length number; returns it and its end."""
    byte = data[offset]
    value = byte & 0x7F
    while byte & 0x80:
        offset += 1
        byte = data[offset]
        value = (value + 1) << 7 | byte & 0x7F
        if value > LARGEST_NUMBER:
            raise ValueError("a number of more than 64 bits")
    return value, offset + 1

"""AGENTS.md and its kin: instructions of a project and of the directories above it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from pi.base.records import Record
from pi.coding.resources.frontmatter import BadResource, read_text
from pi.coding.resources.source import Warn
from pi.coding.trust.gated import context_file


class ContextFile(Record):
    """One file of instructions."""

    path: str
    content: str


class ContextFiles(Record):
    """What is read, from the most general to the nearest."""

    files: tuple[ContextFile, ...] = ()


def find_context_files(
    cwd: Path, agent_dir: Path, *, trusts: Callable[[Path], bool], warn: Warn
) -> ContextFiles:
    """The person's own file, then those from the root of the file system down to ``cwd``."""
    read: list[ContextFile] = []
    seen: set[str] = set()
    for path, allowed in _candidates(cwd, agent_dir, trusts):
        real = os.path.realpath(path)
        if real in seen:
            continue
        seen.add(real)
        if not allowed:
            continue
        try:
            read.append(ContextFile(path=str(path), content=read_text(path)))
        except BadResource as problem:
            warn(f"Could not read {path}: {problem.message}")
    return ContextFiles(files=tuple(read))


def _candidates(
    cwd: Path, agent_dir: Path, trusts: Callable[[Path], bool]
) -> Iterator[tuple[Path, bool]]:
    for path in context_file(agent_dir):
        yield path, True
    for directory in (*reversed(cwd.parents), cwd):
        for path in context_file(directory):
            yield path, trusts(directory)

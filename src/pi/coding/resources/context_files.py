"""AGENTS.md and similar files of a project, and SYSTEM.md and APPEND_SYSTEM.md."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from pi.base.files import expand_home
from pi.base.records import Record
from pi.coding.resources.sources import BadResource, Warn, is_file, read_text
from pi.coding.trust import context_file


class ContextFile(Record):
    """A file with instructions."""

    path: str
    content: str


class ContextFiles(Record):
    """Context files, from the most general to the nearest."""

    files: tuple[ContextFile, ...] = ()


def find_context_files(
    cwd: Path, agent_dir: Path, *, trusts: Callable[[Path], bool], warn: Warn
) -> ContextFiles:
    """Return the user's file, then those from the root of the file system down to ``cwd``."""
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
        except BadResource as error:
            warn(f"Could not read {path}: {error.message}")
    return ContextFiles(files=tuple(read))


def _candidates(
    cwd: Path, agent_dir: Path, trusts: Callable[[Path], bool]
) -> Iterator[tuple[Path, bool]]:
    for path in context_file(agent_dir):
        yield path, True
    for directory in (*reversed(cwd.parents), cwd):
        for path in context_file(directory):
            yield path, trusts(directory)


class PromptFiles(Record):
    """Replacement of the base prompt, and text appended to it; empty if not configured."""

    system: str = ""
    append: str = ""


def find_prompt_files(
    cwd: Path,
    agent_dir: Path,
    *,
    trusted: bool,
    system: str | None = None,
    append: Sequence[str] = (),
    warn: Warn,
) -> PromptFiles:
    """Find the prompt files. Precedence: command line, trusted project, user.

    ``system`` and ``append`` come from the command line: texts, or names of files.
    """
    folders = [cwd / ".pi", agent_dir] if trusted else [agent_dir]
    return PromptFiles(
        system=_first(folders, "SYSTEM.md", warn) if system is None else text_or_file(system, cwd),
        append=(
            "\n\n".join(text_or_file(each, cwd) for each in append)
            if append
            else _first(folders, "APPEND_SYSTEM.md", warn)
        ),
    )


def text_or_file(value: str, cwd: Path) -> str:
    """Return the content of the file with that name if it exists, else ``value`` itself."""
    path = cwd / expand_home(value, strict=False) if value and "\n" not in value else None
    if path is None or not os.path.isfile(path):  # noqa: PTH113
        return value
    try:
        return read_text(path)
    except BadResource as error:
        raise BadResource(f"Cannot read {path}: {error.message}.", hint=error.hint) from error


def _first(folders: Sequence[Path], name: str, warn: Warn) -> str:
    for folder in folders:
        if is_file(folder / name):
            try:
                return read_text(folder / name)
            except BadResource as error:
                warn(f"Could not read {folder / name}: {error.message}")
    return ""

"""Extensions of installed distributions, found without importing what looks for them.

``importlib.metadata`` costs more than the rest of a start. So what it found is kept in the agent
directory, and asked again only when a folder of ``sys.path`` has changed.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from pi.base.errors import PiError
from pi.base.files import read_if_exists, replace_file
from pi.base.records import Record
from pi.coding.extension_host.finding import Candidate
from pi.coding.resources.source import SourceInfo

log = logging.getLogger(__name__)

GROUP = "pi.extensions"
FILE = "extension-index.json"
BUNDLED = "pi.batteries."


class Entry(Record):
    """One entry point."""

    name: str
    value: str
    distribution: str = ""


class Index(Record):
    """What was found, and the state of the folders that it was found in."""

    key: tuple[tuple[str, int], ...]
    entries: tuple[Entry, ...] = ()


def installed(agent_dir: Path, path: Sequence[str] | None = None) -> tuple[Candidate, ...]:
    """The extensions of everything that is installed."""
    key = _key(sys.path if path is None else path)
    file = agent_dir / FILE
    index = _read(file)
    if index is None or index.key != key:
        index = Index(key=key, entries=_ask(path))
        _write(file, index)
    return tuple(map(_candidate, index.entries))


def _candidate(entry: Entry) -> Candidate:
    bundled = entry.value.startswith(BUNDLED)
    source = SourceInfo(
        path=f"<{entry.value}>", source=entry.distribution or "inline", origin="package"
    )
    return Candidate(
        name=entry.name,
        rank="bundled" if bundled else "package",
        source=source,
        target=entry.value,
    )


def _key(path: Sequence[str]) -> tuple[tuple[str, int], ...]:
    """Installing or removing anything changes the time of one of these folders."""
    key = []
    for folder in path:
        try:
            key.append((folder, Path(folder).stat().st_mtime_ns))
        except OSError:
            continue
    return tuple(key)


def _ask(path: Sequence[str] | None) -> tuple[Entry, ...]:
    from importlib import metadata  # slow: only when something was installed

    found = {
        (point.name, point.value): Entry(
            name=point.name, value=point.value, distribution=each.metadata["Name"] or ""
        )
        for each in metadata.distributions(path=list(sys.path if path is None else path))
        for point in each.entry_points
        if point.group == GROUP
    }
    return tuple(found.values())


def _read(file: Path) -> Index | None:
    try:
        content = read_if_exists(file)
        return None if content is None else msgspec.json.decode(content, type=Index)
    except (PiError, msgspec.DecodeError) as problem:
        log.info("the index of extensions is made anew: %s", problem)
        return None


def _write(file: Path, index: Index) -> None:
    if not file.parent.is_dir():
        return  # looking for extensions is no reason to make a folder in somebody's home
    try:
        replace_file(file, msgspec.json.encode(index))
    except PiError as problem:
        log.info("the index of extensions is not kept: %s", problem)

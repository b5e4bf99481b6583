"""Files and folders that a pattern names. Looks at a limited number of names, whatever it says."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from pi.coding.resources.folders import MOST_BELOW, below, entries_of, is_folder
from pi.coding.resources.globs import compile_glob, expand_braces

log = logging.getLogger(__name__)

_WILD = frozenset("*?[\\")


def matching_paths(folder: Path, pattern: str) -> list[Path]:
    """What is there below ``folder`` that a relative pattern names, in the order of names.

    ``**`` means folders, at any depth, and does not follow links. Unlike ``Path.glob``, which for
    ``**/**/**/x`` looks at everything again and again, each folder is met once for each part of
    the pattern. ``ValueError`` for a pattern that is absolute or too large.
    """
    if pattern.startswith("/") or Path(pattern).is_absolute():
        raise ValueError(f"the pattern {pattern} is absolute")
    found: set[Path] = set()
    names = _Names()
    try:
        for alternative in expand_braces(pattern):
            found |= names.matching(folder, alternative)
    except _Enough:
        log.warning("%s in %s means too much; not all is used", pattern, folder)
    return sorted(found)


class _Enough(Exception):
    """So many names were looked at that the rest is left out."""


class _Names:
    """Looks at names, up to a limit for all alternatives of a pattern."""

    def __init__(self) -> None:
        self._left = MOST_BELOW

    def matching(self, folder: Path, pattern: str) -> set[Path]:
        """What a pattern without braces names."""
        places = {folder}
        for part in filter(None, pattern.split("/")):
            places = set(self._step(places, part))
        return places - {folder}

    def _step(self, places: Iterable[Path], part: str) -> Iterator[Path]:
        """What one part of the pattern leads to from each of ``places``."""
        if part == "**":
            for place in places:
                yield place
                yield from (path for path in self._counted(below(place)) if is_folder(path))
        elif not _WILD & set(part):
            paths = self._counted(place / part for place in places)
            yield from (path for path in paths if os.path.lexists(path))
        else:
            glob = compile_glob(part, braces=False)
            for place in places:
                paths = self._counted(entries_of(place))
                yield from (path for path in paths if glob.fullmatch(path.name))

    def _counted(self, paths: Iterable[Path]) -> Iterator[Path]:
        for path in paths:
            self._left -= 1
            if self._left < 0:
                raise _Enough
            yield path

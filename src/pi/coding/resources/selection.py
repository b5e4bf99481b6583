"""Paths of a settings list: what to look at, and what of it to leave out. Pure but for ``~``."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path

from pi.base.records import Record


class Selection(Record):
    """A list such as ``["more/skills", "!drafts/*", "-old.md", "+drafts/good.md"]``."""

    paths: tuple[Path, ...] = ()
    forced: tuple[Path, ...] = ()
    without: tuple[Path, ...] = ()
    patterns: tuple[str, ...] = ()

    @classmethod
    def of(cls, entries: Sequence[str], base: Path) -> Selection:
        """What ``entries`` say, relative to ``base``."""
        plain = [entry for entry in entries if entry[:1] not in ("!", "+", "-")]
        return cls(
            paths=tuple(_resolved(entry, base) for entry in plain),
            forced=tuple(_resolved(entry[1:], base) for entry in entries if entry[:1] == "+"),
            without=tuple(_resolved(entry[1:], base) for entry in entries if entry[:1] == "-"),
            patterns=tuple(entry[1:] for entry in entries if entry[:1] == "!"),
        )

    def admits(self, path: Path, root: Path) -> bool:
        """Whether something that was found at ``path`` below ``root`` may be used."""
        if any(path == each or each in path.parents for each in self.forced):
            return True
        if any(path == each or each in path.parents for each in self.without):
            return False
        inside = path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()
        return not any(fnmatch(inside, pattern) for pattern in self.patterns)


def _resolved(entry: str, base: Path) -> Path:
    return base / Path(entry).expanduser()

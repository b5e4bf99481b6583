"""Paths of a settings list: what to look at, and what of it to leave out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath

from pi.base.files import expand_home
from pi.base.records import Record
from pi.coding.resources.source import Place, Scope

_PATTERN = frozenset("*?[")


class Selection(Record):
    """A list such as ``["more/skills", "other/*", "!drafts/*", "-old.md", "+drafts/good.md"]``."""

    base: Path
    """What paths start from."""
    paths: tuple[Path, ...] = ()
    forced: tuple[Path, ...] = ()
    without: tuple[Path, ...] = ()
    patterns: tuple[str, ...] = ()

    @classmethod
    def of(cls, entries: Sequence[str], base: Path) -> Selection:
        """What ``entries`` say, relative to ``base``; patterns mean what is there now."""
        plain = [entry for entry in entries if entry[:1] not in ("!", "+", "-")]
        return cls(
            base=base,
            paths=tuple(path for entry in plain for path in _meant(_resolved(entry, base))),
            forced=tuple(_resolved(entry[1:], base) for entry in entries if entry[:1] == "+"),
            without=tuple(_resolved(entry[1:], base) for entry in entries if entry[:1] == "-"),
            patterns=tuple(entry[1:] for entry in entries if entry[:1] == "!"),
        )

    def places(self, scope: Scope) -> tuple[Place, ...]:
        """What to look at."""
        return tuple(
            Place(path=path, source="local", scope=scope) for path in (*self.paths, *self.forced)
        )

    def admits(self, path: Path, root: Path) -> bool:
        """Whether something that was found at ``path``, looking below ``root``, may be used.

        A pattern may say where it is from ``root`` or ``base``, name it, or a folder that it is in.
        """
        if any(path.is_relative_to(each) for each in self.forced):
            return True
        if any(path.is_relative_to(each) for each in self.without):
            return False
        if not self.patterns:
            return True
        from pi.coding.resources.globs import compile_glob  # most lists have no patterns

        names = set(_names(path, (root, self.base)))
        found = (compile_glob(pattern.removeprefix("./").rstrip("/")) for pattern in self.patterns)
        return not any(each.fullmatch(name) for each in found for name in names)


def _names(path: Path, roots: Sequence[Path]) -> Iterator[str]:
    """What a pattern may call a file: from each of ``roots``, as a whole, or by its name."""
    shown: list[PurePath] = [path, PurePath(path.name)]
    shown += (path.relative_to(root) for root in roots if path.is_relative_to(root))
    for each in shown:
        yield each.as_posix()
        yield from (folder.as_posix() for folder in each.parents)


def _meant(path: Path) -> tuple[Path, ...]:
    """A path, or everything that a pattern fits, in the order of names."""
    if not _PATTERN & set(str(path)) or path.exists():
        return (path,)
    from pi.coding.resources.matching import matching_paths  # most lists have no patterns

    root = Path(path.anchor)
    try:
        return tuple(matching_paths(root, path.relative_to(root).as_posix()))
    except ValueError:  # too large to be meant as a pattern
        return (path,)


def _resolved(entry: str, base: Path) -> Path:
    return base / expand_home(entry, strict=False)

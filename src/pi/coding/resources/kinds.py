"""Resources of any kind: found in many places, named alike, the nearest one counts.

A kind says how a file becomes a value and what it is called; sources say where files may be. What
lies in a project is only opened when the project is trusted, whoever has found it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pi.base.records import Record
from pi.coding.resources.folders import is_file, repository_of
from pi.coding.resources.frontmatter import BadResource, read_text
from pi.coding.resources.source import Scope, Warn

Parse: TypeAlias = Callable[[str, Path], Any]
"""A value from the text of a file; ``None`` if it is none, ``BadResource`` if it is broken."""
Key: TypeAlias = Callable[[Any], str]
"""What a value is called: of those with one name the first counts."""


class Where(Record):
    """What finders may look at."""

    cwd: Path
    home: Path
    agent_dir: Path
    trusts: Callable[[Path], bool]
    """Whether files of a directory may be read."""

    @property
    def project(self) -> Path:
        """The top of the repository that ``cwd`` is in; without one, ``cwd``."""
        return repository_of(self.cwd) or self.cwd

    def scope(self, path: Path) -> Literal["user", "project"]:
        """Whose a file is: what lies in the project is the project's."""
        return "project" if path.is_relative_to(self.project) and not self._own(path) else "user"

    def allows(self, path: Path) -> bool:
        """Whether a file may be read, or a folder listed: the user's own, or of a trusted place."""
        return self.scope(path) == "user" or self.trusts(path)

    def _own(self, path: Path) -> bool:
        """Whether the user keeps it for all projects, even if home is a repository or the project.

        That is the agent directory, and folders such as ``~/.claude`` unless we work inside one.
        """
        if path.is_relative_to(self.agent_dir):
            return True
        if not path.is_relative_to(self.home) or path == self.home:
            return False
        folder = self.home / path.relative_to(self.home).parts[0]
        return folder.name.startswith(".") and not self.cwd.is_relative_to(folder)


Find: TypeAlias = Callable[[Where], Iterable[Path]]
"""Files that may hold a value; those that are not there are passed over."""


class ResourceKind(Record):
    """What files of one kind mean."""

    name: str
    parse: Parse
    key: Key


class ResourceSource(Record):
    """Where files of one kind may be; of two sources the one with the higher priority counts."""

    kind: str
    name: str
    find: Find
    priority: int = 0


def agent_source(
    kind: str, agent: str, priority: int, folder: str, files: Callable[[Path], Iterable[Path]]
) -> ResourceSource:
    """Where an agent keeps files of a kind: in the project, and in the same folder at home."""

    def find(where: Where) -> Iterator[Path]:
        if where.allows(where.cwd / folder):
            yield from files(where.cwd / folder)
        if where.cwd != where.home:
            yield from files(where.home / folder)

    return ResourceSource(kind=kind, name=agent, find=find, priority=priority)


class ResourceItem(Record):
    """One value that was found."""

    key: str
    value: Any
    path: Path
    source: str
    """Who has found it."""
    scope: Scope
    priority: int
    shadowed: bool = False
    """Whether another one of its name counts instead."""


def load_kind(
    kind: ResourceKind, sources: Iterable[ResourceSource], where: Where, warn: Warn
) -> tuple[ResourceItem, ...]:
    """Everything of a kind, what counts most first; shadowed values are in it, and say so."""
    items: list[ResourceItem] = []
    used: set[str] = set()
    for source in sorted(sources, key=lambda source: -source.priority):
        for path in source.find(where):
            if not where.allows(path.parent) or not is_file(path):
                continue
            value = _parsed(kind, path, warn)
            if value is None:
                continue
            key = kind.key(value)
            items.append(
                ResourceItem(
                    key=key,
                    value=value,
                    path=path,
                    source=source.name,
                    scope=where.scope(path),
                    priority=source.priority,
                    shadowed=key in used,
                )
            )
            used.add(key)
    return tuple(items)


def _parsed(kind: ResourceKind, path: Path, warn: Warn) -> Any:
    try:
        return kind.parse(read_text(path), path)
    except BadResource as problem:
        warn(f"{path} was not used as one of the {kind.name}: {problem.message}")
        return None

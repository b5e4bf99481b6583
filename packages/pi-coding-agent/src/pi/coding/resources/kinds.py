"""Generic resource kinds and their sources.

A kind defines how a file is parsed and how its value is named. Sources define where files are
searched. Of several values with the same name the first is used. Files of a project are opened
only if it is trusted, whichever source found them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pi.base.records import Record
from pi.coding.other_agents import AgentUse, repository_of
from pi.coding.resources.prompts import parse_template
from pi.coding.resources.skills import parse_skill
from pi.coding.resources.sources import BadResource, Scope, Warn, read_text
from pi.coding.resources.tolerant_files import is_file

Parse: TypeAlias = Callable[[str, Path], Any]
"""Parses the text of a file. Returns ``None`` to skip it; raises ``BadResource`` if broken."""
Key: TypeAlias = Callable[[Any], str]
"""Returns the name of a value; of several with the same name the first is used."""


class Where(Record):
    """Directories that finders use, and the trust decision."""

    cwd: Path
    home: Path
    agent_dir: Path
    trusts: Callable[[Path], bool]
    """Whether files of a directory may be read."""
    use: AgentUse = AgentUse()
    """The other agents whose files are used."""

    @property
    def project(self) -> Path:
        """The root of the repository that contains ``cwd``, or ``cwd``."""
        return repository_of(self.cwd) or self.cwd

    def scope(self, path: Path) -> Literal["user", "project"]:
        """Return whether a file belongs to the user or to the project."""
        return "project" if path.is_relative_to(self.project) and not self._is_own(path) else "user"

    def allows(self, path: Path) -> bool:
        """Whether a file may be read or a folder listed: it is the user's own, or trusted."""
        return self.scope(path) == "user" or self.trusts(path)

    def uses(self, source: str, path: Path) -> bool:
        """Whether files of a source are used; those of other agents at home only if accepted."""
        if self.scope(path) == "project":
            return self.use.in_project(source)
        return self.use.of_user(source)

    def _is_own(self, path: Path) -> bool:
        """Whether ``path`` is the user's own even if the home directory is a repository or project.

        True for the agent directory, and for folders such as ``~/.claude`` unless ``cwd`` is
        inside one.
        """
        if path.is_relative_to(self.agent_dir):
            return True
        if not path.is_relative_to(self.home) or path == self.home:
            return False
        folder = self.home / path.relative_to(self.home).parts[0]
        return folder.name.startswith(".") and not self.cwd.is_relative_to(folder)


Find: TypeAlias = Callable[[Where], Iterable[Path]]
"""Returns candidate files; missing ones are skipped."""


class ResourceKind(Record):
    """How files of one kind are parsed and named."""

    name: str
    parse: Parse
    key: Key
    renamed: Callable[[Any, str, Any], Any] | None = None
    """Returns a value of an agent under another name, beside the value that has its name.

    ``None`` if both say the same. Without it, and for names of pi itself, the first is used."""


class ResourceSource(Record):
    """Where files of one kind are searched. Sources with a higher priority come first."""

    kind: str
    name: str
    find: Find
    priority: int = 0


def agent_source(
    kind: str, agent: str, priority: int, folder: str, files: Callable[[Path], Iterable[Path]]
) -> ResourceSource:
    """Return the source for an agent that uses the same folder in the project and at home."""

    def find(search: Where) -> Iterator[Path]:
        if search.allows(search.cwd / folder):
            yield from files(search.cwd / folder)
        if search.cwd != search.home:
            yield from files(search.home / folder)

    return ResourceSource(kind=kind, name=agent, find=find, priority=priority)


class ResourceItem(Record):
    """A value that was found."""

    key: str
    value: Any
    path: Path
    source: str
    """Name of the source."""
    scope: Scope
    priority: int
    shadowed: bool = False
    """Whether another value with the same name is used instead."""


def load_kind(
    kind: ResourceKind, sources: Iterable[ResourceSource], search: Where, warn: Warn
) -> tuple[ResourceItem, ...]:
    """Load all values of a kind by priority, including shadowed ones."""
    items: list[ResourceItem] = []
    used: dict[str, list[tuple[str, Any]]] = {}
    """By name: sources and values."""
    for source in sorted(sources, key=lambda source: -source.priority):
        for path in source.find(search):
            if not search.allows(path.parent) or not search.uses(source.name, path):
                continue
            if not is_file(path):
                continue
            value = _parse(kind, path, warn)
            if value is None:
                continue
            key = kind.key(value)
            owners = used.get(key, [])
            if kind.renamed is not None and owners:
                is_own = any(owner in ("pi", source.name) for owner, _ in owners)
                other = None if is_own else kind.renamed(value, source.name, owners[0][1])
                if other is not None:
                    value, key = other, kind.key(other)
            items.append(
                ResourceItem(
                    key=key,
                    value=value,
                    path=path,
                    source=source.name,
                    scope=search.scope(path),
                    priority=source.priority,
                    shadowed=key in used,
                )
            )
            used.setdefault(key, []).append((source.name, value))
    return tuple(items)


def _parse(kind: ResourceKind, path: Path, warn: Warn) -> Any:
    try:
        value = kind.parse(read_text(path), path)
        if warning := getattr(value, "problem", ""):
            warn(warning)
        return value
    except BadResource as error:
        warn(f"{path} was not used as one of the {kind.name}: {error.message}")
        return None


SKILLS = ResourceKind(name="skills", parse=parse_skill, key=lambda skill: skill.name)
PROMPTS = ResourceKind(name="prompts", parse=parse_template, key=lambda template: template.name)

"""Resources of any kind: found in many places, named alike, the nearest one counts.

A kind says how a file becomes a value and what it is called; sources say where files may be. What
lies in a project is only opened when the project is trusted, whoever has found it.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pi.base.records import Record
from pi.coding.resources.prompts import parse_template, template_files
from pi.coding.resources.skills import parse_skill, skill_files
from pi.coding.resources.sources import (
    BadResource,
    Document,
    Scope,
    Warn,
    entries_of,
    is_file,
    parse_document,
    path_exists,
    read_text,
    repository_of,
    split_front_matter,
)
from pi.coding.trust import CLINE_RULES

log = logging.getLogger(__name__)


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
    except BadResource as error:
        warn(f"{path} was not used as one of the {kind.name}: {error.message}")
        return None


# Rules: instructions that hold for some files, or for some words, of pi and of other agents.


KIND = "rules"
GLOBAL_RULES = "global_rules.md"


class Rule(Record):
    """What one file says, whatever agent it was written for."""

    name: str
    path: str
    content: str
    description: str = ""
    globs: tuple[str, ...] = ()
    always_apply: bool = False
    condition: str = ""
    """What in an answer calls for the rule, as a pattern."""


def parse_rule(text: str, path: Path) -> Rule:
    """The rule of a file; of front matter that is no YAML, lines of ``name: value`` count."""
    try:
        document = parse_document(text)
    except BadResource as error:
        log.warning("%s: %s; only simple lines of it are used", path, error.message)
        document = _by_lines(text)
    meta = document.meta
    words = (meta.get(name) for name in ("condition", "ttsr_trigger", "ttsrTrigger"))
    return Rule(
        name=_name(path),
        path=str(path),
        content=document.body.strip(),
        description=_text(meta.get("description")),
        globs=_globs(meta.get("globs")),
        always_apply=meta.get("alwaysApply") is True,
        condition=next((word for word in words if isinstance(word, str) and word), ""),
    )


def _by_lines(text: str) -> Document:
    """Others write ``globs: *.ts,*.tsx``, which YAML takes for something else."""
    front, body = split_front_matter(text)
    pairs = re.findall(r"(?m)^(\w+):[ \t]*(.*?)[ \t]*$", front or "")
    meta = {name: value == "true" if value in ("true", "false") else value for name, value in pairs}
    return Document(meta=meta, body=body, has_meta=True)


def _name(path: Path) -> str:
    return path.stem.lstrip(".") if path.suffix else path.name.lstrip(".")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _globs(value: Any) -> tuple[str, ...]:
    given = value if isinstance(value, list) else [value]
    return tuple(one for one in given if isinstance(one, str) and one)


# Where they are -----------------------------------------------------------------------------------


def _pi(where: Where) -> Iterator[Path]:
    if where.allows(folder := where.cwd / ".pi" / "rules"):
        yield from _files(folder)
    yield from _files(where.agent_dir / "rules")


def _windsurf(where: Where) -> Iterator[Path]:
    if where.allows(folder := where.cwd / ".windsurf" / "rules"):
        yield from _files(folder)
    yield where.home / ".codeium" / "windsurf" / "memories" / GLOBAL_RULES


def _cline(where: Where) -> Iterator[Path]:
    """The nearest one here or above: a folder of rules, or a single file."""
    for directory in (where.cwd, *where.cwd.parents):
        found = directory / CLINE_RULES
        if path_exists(found):
            # One above the project may be anybody's, and counts by its own directory.
            if directory == where.home or where.trusts(directory):
                yield from _files(found) if found.is_dir() else (found,)
            return


def _files(folder: Path) -> list[Path]:
    return [path for path in entries_of(folder) if path.suffix in (".md", ".mdc")]


RULES = ResourceKind(name=KIND, parse=parse_rule, key=lambda rule: rule.name)

RULE_SOURCES = (
    ResourceSource(kind=KIND, name="pi", priority=100, find=_pi),
    agent_source(KIND, "claude", 80, ".claude/rules", _files),
    agent_source(KIND, "codex", 70, ".codex/rules", _files),
    agent_source(KIND, "agents", 70, ".agents/rules", _files),
    agent_source(KIND, "gemini", 60, ".gemini/rules", _files),
    agent_source(KIND, "cursor", 50, ".cursor/rules", _files),
    ResourceSource(kind=KIND, name="windsurf", priority=50, find=_windsurf),
    ResourceSource(kind=KIND, name="cline", priority=40, find=_cline),
)
"""Whose rules count: of two with one name those of the agent that stands higher."""


# Skills and prompt templates of other agents, where these keep them.
#
# A session uses none of them unasked: extensions load them, or settings name their folders.


SKILLS = ResourceKind(name="skills", parse=parse_skill, key=lambda skill: skill.name)
PROMPTS = ResourceKind(name="prompts", parse=parse_template, key=lambda template: template.name)


OTHER_AGENT_SOURCES = (
    agent_source(SKILLS.name, "claude", 80, ".claude/skills", skill_files),
    agent_source(SKILLS.name, "codex", 70, ".codex/skills", skill_files),
    agent_source(SKILLS.name, "gemini", 60, ".gemini/skills", skill_files),
    agent_source(PROMPTS.name, "claude", 80, ".claude/commands", template_files),
    agent_source(PROMPTS.name, "codex", 70, ".codex/prompts", template_files),
)
"""Whose count: of two with one name those of the agent that stands higher, and pi's own first."""

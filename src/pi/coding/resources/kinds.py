"""Generic resource kinds, rules, and the folders of other agents.

A kind defines how a file is parsed and how its value is named. Sources define where files are
searched. Of several values with the same name the first is used. Files of a project are opened
only if it is trusted, whichever source found them.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, TypeAlias

from msgspec import field

from pi.base.formats import Document, split_front_matter
from pi.base.records import Record
from pi.coding.resources.prompts import parse_template, template_files
from pi.coding.resources.skills import parse_skill, skill_files
from pi.coding.resources.sources import (
    BadResource,
    Scope,
    Warn,
    entries_of,
    is_file,
    parse_document,
    path_exists,
    read_text,
    repository_of,
)
from pi.coding.trust import CLINE_RULES

log = logging.getLogger(__name__)

_COMMA = re.compile(r",(?![^{}]*\})")
"""A comma outside braces: ``*.{js,ts},*.py`` are two globs."""


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

    @property
    def project(self) -> Path:
        """The root of the repository that contains ``cwd``, or ``cwd``."""
        return repository_of(self.cwd) or self.cwd

    def scope(self, path: Path) -> Literal["user", "project"]:
        """Return whether a file belongs to the user or to the project."""
        return "project" if path.is_relative_to(self.project) and not self._own(path) else "user"

    def allows(self, path: Path) -> bool:
        """Whether a file may be read or a folder listed: it is the user's own, or trusted."""
        return self.scope(path) == "user" or self.trusts(path)

    def _own(self, path: Path) -> bool:
        """Whether it belongs to the user even if the home directory is a repository or the project.

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

    def find(where: Where) -> Iterator[Path]:
        if where.allows(where.cwd / folder):
            yield from files(where.cwd / folder)
        if where.cwd != where.home:
            yield from files(where.home / folder)

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
    kind: ResourceKind, sources: Iterable[ResourceSource], where: Where, warn: Warn
) -> tuple[ResourceItem, ...]:
    """Load all values of a kind by priority, including shadowed ones."""
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


KIND = "rules"
GLOBAL_RULES = "global_rules.md"


class Rule(Record):
    """Instructions for some files or words, of pi or of another agent."""

    name: str
    path: str
    content: str
    description: str = ""
    globs: tuple[str, ...] = ()
    always_apply: bool = False
    condition: str = ""
    """Pattern of the text in an answer that triggers the rule; the first if several are given."""
    meta: dict[str, Any] = field(default_factory=dict)
    """The whole front matter, for fields that only some extensions know."""


def parse_rule(text: str, path: Path) -> Rule:
    """Parse a rule; front matter that is not valid YAML is read as lines of ``name: value``."""
    try:
        document = parse_document(text)
    except BadResource as error:
        log.warning("%s: %s; only its lines of name: value are used", path, error.message)
        document = _by_lines(text)
    meta = document.meta
    words = (
        word
        for name in ("condition", "ttsr_trigger", "ttsrTrigger")
        for word in _listed(meta.get(name))
    )
    return Rule(
        name=_name(path),
        path=str(path),
        content=document.body.strip(),
        description=_text(meta.get("description")),
        globs=_globs(meta.get("globs")),
        always_apply=meta.get("alwaysApply") is True,
        condition=next(words, ""),
        meta=meta,
    )


def _by_lines(text: str) -> Document:
    """Read front matter line by line: ``globs: *.ts,*.tsx`` of other agents is not valid YAML."""
    front, body = split_front_matter(text)
    pairs = re.findall(r"(?m)^(\w+):[ \t]*(.*?)[ \t]*$", front or "")
    meta = {name: value == "true" if value in ("true", "false") else value for name, value in pairs}
    return Document(meta=meta, body=body, has_meta=True)


def _name(path: Path) -> str:
    return path.stem.lstrip(".") if path.suffix else path.name.lstrip(".")


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _globs(value: Any) -> tuple[str, ...]:
    """Return the globs of a list or of a text; commas separate them, except between braces."""
    parts = (part.strip() for text in _listed(value) for part in _COMMA.split(text))
    return tuple(part for part in parts if part)


def _listed(value: Any) -> Iterator[str]:
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, str) and one:
            yield one


def _pi(where: Where) -> Iterator[Path]:
    if where.allows(folder := where.cwd / ".pi" / "rules"):
        yield from _files(folder)
    yield from _files(where.agent_dir / "rules")


def _windsurf(where: Where) -> Iterator[Path]:
    if where.allows(folder := where.cwd / ".windsurf" / "rules"):
        yield from _files(folder)
    yield where.home / ".codeium" / "windsurf" / "memories" / GLOBAL_RULES


def _cline(where: Where) -> Iterator[Path]:
    """Yield the nearest rules in ``cwd`` or above: a folder of rules, or a single file."""
    for directory in (where.cwd, *where.cwd.parents):
        found = directory / CLINE_RULES
        if path_exists(found):
            # Above the project its own directory must be trusted: another user may own it.
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
"""Of rules with the same name those with the higher priority are used."""


SKILLS = ResourceKind(name="skills", parse=parse_skill, key=lambda skill: skill.name)
PROMPTS = ResourceKind(name="prompts", parse=parse_template, key=lambda template: template.name)


OTHER_AGENT_SOURCES = (
    agent_source(SKILLS.name, "claude", 80, ".claude/skills", skill_files),
    agent_source(SKILLS.name, "codex", 70, ".codex/skills", skill_files),
    agent_source(SKILLS.name, "gemini", 60, ".gemini/skills", skill_files),
    agent_source(PROMPTS.name, "claude", 80, ".claude/commands", template_files),
    agent_source(PROMPTS.name, "codex", 70, ".codex/prompts", template_files),
)
"""Skills and prompt templates of other agents.

A session does not use them by default: extensions load them, or settings list their folders. Of
two with the same name the one with the higher priority is used, and pi's own first.
"""

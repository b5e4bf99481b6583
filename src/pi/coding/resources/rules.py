"""Rules: instructions that hold for some files, or for some words, of pi and of other agents."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pi.base.records import Record
from pi.coding.resources.frontmatter import (
    BadResource,
    Document,
    parse_document,
    split_front_matter,
)
from pi.coding.resources.kinds import ResourceKind, ResourceSource, Where
from pi.coding.trust.gated import CLINE_RULES

log = logging.getLogger(__name__)

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
    except BadResource as problem:
        log.warning("%s: %s; only simple lines of it are used", path, problem.message)
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


def _below(*folders: str, of_person: Callable[[Where], Path]) -> Callable[[Where], Iterator[Path]]:
    """Rules in a folder of the project, then in the person's own."""

    def find(where: Where) -> Iterator[Path]:
        yield from _files(where.cwd.joinpath(*folders))
        yield from _files(of_person(where))

    return find


def _windsurf(where: Where) -> Iterator[Path]:
    yield from _files(where.cwd / ".windsurf" / "rules")
    yield where.home / ".codeium" / "windsurf" / "memories" / GLOBAL_RULES


def _cline(where: Where) -> Iterator[Path]:
    """The nearest one here or above: a folder of rules, or a single file."""
    for directory in (where.cwd, *where.cwd.parents):
        found = directory / CLINE_RULES
        if found.exists():
            # One above the project may be anybody's, and counts by its own directory.
            if directory == where.home or where.trusts(directory):
                yield from _files(found) if found.is_dir() else (found,)
            return


def _files(folder: Path) -> list[Path]:
    return sorted((*folder.glob("*.md"), *folder.glob("*.mdc")))


RULES = ResourceKind(name=KIND, parse=parse_rule, key=lambda rule: rule.name)

SOURCES = tuple(
    ResourceSource(kind=KIND, name=name, priority=priority, find=find)
    for name, priority, find in (
        ("pi", 100, _below(".pi", "rules", of_person=lambda where: where.agent_dir / "rules")),
        ("claude", 80, _below(".claude", "rules", of_person=lambda w: w.home / ".claude/rules")),
        ("codex", 70, _below(".codex", "rules", of_person=lambda w: w.home / ".codex/rules")),
        ("agents", 70, _below(".agents", "rules", of_person=lambda w: w.home / ".agents/rules")),
        ("gemini", 60, _below(".gemini", "rules", of_person=lambda w: w.home / ".gemini/rules")),
        ("cursor", 50, _below(".cursor", "rules", of_person=lambda w: w.home / ".cursor/rules")),
        ("windsurf", 50, _windsurf),
        ("cline", 40, _cline),
    )
)
"""Whose rules count: of two with one name those of the agent that stands higher."""

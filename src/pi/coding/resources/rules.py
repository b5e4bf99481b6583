"""Rules: instructions that hold for some files, or for some words, of pi and of other agents."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pi.base.records import Record
from pi.coding.resources.folders import entries_of, is_there
from pi.coding.resources.frontmatter import (
    BadResource,
    Document,
    parse_document,
    split_front_matter,
)
from pi.coding.resources.kinds import ResourceKind, ResourceSource, Where, agent_source
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
        if is_there(found):
            # One above the project may be anybody's, and counts by its own directory.
            if directory == where.home or where.trusts(directory):
                yield from _files(found) if found.is_dir() else (found,)
            return


def _files(folder: Path) -> list[Path]:
    return [path for path in entries_of(folder) if path.suffix in (".md", ".mdc")]


RULES = ResourceKind(name=KIND, parse=parse_rule, key=lambda rule: rule.name)

SOURCES = (
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

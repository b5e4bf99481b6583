"""Rules of pi and of other agents: their parser, and their sources.

A rule has a name, a text and front matter. Extensions decide how rules are used.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from msgspec import field

from pi.base.formats import Document, split_front_matter
from pi.base.records import Record, replace
from pi.coding.other_agents import CLINE_RULES
from pi.coding.resources.ignore import compile_glob
from pi.coding.resources.kinds import ResourceKind, ResourceSource, Where, agent_source
from pi.coding.resources.sources import BadResource, parse_document
from pi.coding.resources.tolerant_files import entries_of, path_exists

_COMMA = re.compile(r",(?![^{}()]*[})])")
"""A comma outside braces and parentheses: ``*.{js,ts},*.py`` are two globs."""

KIND = "rules"
GLOBAL_RULES = "global_rules.md"
LEGACY_FILES = {"cursor": ".cursorrules", "windsurf": ".windsurfrules"}
"""Single files of older versions of other agents. They have no front matter and always apply."""


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
    conditions: tuple[str, ...] = ()
    """All patterns, as written; one match is enough."""
    ast_conditions: tuple[str, ...] = ()
    """Patterns of ast-grep for written source code; one match is enough."""
    scopes: tuple[str, ...] = ()
    """The parts of an answer that are matched; empty means all."""
    enabled: bool = True
    """Whether the rule is used at all; a disabled rule still shadows others of its name."""
    meta: dict[str, Any] = field(default_factory=dict)
    """The whole front matter, for fields that only some extensions use."""
    problem: str = ""
    """What is wrong with the front matter, with file and line."""


def parse_rule(text: str, path: Path) -> Rule:
    """Parse a rule; front matter that is not valid YAML is read as lines of ``name: value``."""
    warning = ""
    try:
        document = parse_document(text)
    except BadResource as error:
        warning = f"{path}: {error.message}; only its other lines of `name: value` are used."
        document = _by_lines(text)
    meta = document.meta
    conditions = _first_of(meta, "condition", "ttsr_trigger", "ttsrTrigger")
    # Windsurf writes ``trigger: always_on``; old files have no front matter.
    always = meta.get("alwaysApply") is True or meta.get("trigger") == "always_on"
    return Rule(
        name=_rule_name(path),
        path=str(path),
        content=document.body.strip(),
        description=_text_or_empty(meta.get("description")),
        globs=_split(_first_of(meta, "globs", "paths")),
        always_apply=always or path.name in LEGACY_FILES.values(),
        condition=conditions[0] if conditions else "",
        conditions=conditions,
        ast_conditions=_first_of(meta, "astCondition", "ast_condition"),
        scopes=_split(_first_of(meta, "scope")),
        enabled=meta.get("enabled") is not False,
        meta=meta,
        problem=warning,
    )


def path_matches(globs: Iterable[str], path: str, cwd: Path) -> bool:
    """Whether one of the globs of a rule matches a file.

    A glob without ``/`` matches the name of the file in any folder; another one matches its path
    below ``cwd``, or its absolute path. ``path`` may be relative to ``cwd``.
    """
    file = os.path.normpath(os.path.join(cwd, os.path.expanduser(path)))  # noqa: PTH111, PTH118
    plain = file.replace(os.sep, "/")
    forms = [plain]
    if (below := os.path.relpath(file, cwd)) and not below.startswith(os.pardir):
        forms.append(below.replace(os.sep, "/"))
    name = plain.rpartition("/")[2]
    for glob in globs:
        pattern = glob.removeprefix("./")
        texts = forms if "/" in pattern else [name]
        if any(compile_glob(pattern).fullmatch(text) for text in texts):
            return True
    return False


def _by_lines(text: str) -> Document:
    """Read front matter line by line: ``globs: *.ts,*.tsx`` of other agents is not valid YAML."""
    front, body = split_front_matter(text)
    pairs = re.findall(r"(?m)^(\w+):[ \t]*(.*?)[ \t]*$", front or "")
    meta = {name: value == "true" if value in ("true", "false") else value for name, value in pairs}
    return Document(meta=meta, body=body, has_meta=True)


def _rule_name(path: Path) -> str:
    return path.stem.lstrip(".") if path.suffix else path.name.lstrip(".")


def _text_or_empty(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _first_of(meta: dict[str, Any], *names: str) -> tuple[str, ...]:
    """Return the texts of the first field that has any; a field is a text or a list of texts."""
    for name in names:
        value = meta.get(name)
        listed = value if isinstance(value, list) else [value]
        if texts := tuple(one for one in listed if isinstance(one, str) and one):
            return texts
    return ()


def _split(texts: Iterable[str]) -> tuple[str, ...]:
    """Split at commas, except between braces and parentheses."""
    parts = (part.strip() for text in texts for part in _COMMA.split(text))
    return tuple(part for part in parts if part)


def _pi(search: Where) -> Iterator[Path]:
    if search.allows(folder := search.cwd / ".pi" / "rules"):
        yield from _rule_files(folder)
    yield from _rule_files(search.agent_dir / "rules")


def _cursor(search: Where) -> Iterator[Path]:
    """Yield rules of the user before those of the project, as in the original."""
    if search.cwd != search.home:
        yield from _rule_files(search.home / ".cursor" / "rules")
    if search.allows(folder := search.cwd / ".cursor" / "rules"):
        yield from _rule_files(folder)
    yield search.cwd / LEGACY_FILES["cursor"]


def _windsurf(search: Where) -> Iterator[Path]:
    yield search.home / ".codeium" / "windsurf" / "memories" / GLOBAL_RULES
    if search.allows(folder := search.cwd / ".windsurf" / "rules"):
        yield from (path for path in _rule_files(folder) if path.suffix == ".md")
    yield search.cwd / LEGACY_FILES["windsurf"]


def _cline(search: Where) -> Iterator[Path]:
    """Yield the nearest rules in ``cwd`` or above: a folder of rules, or a single file."""
    for directory in (search.cwd, *search.cwd.parents):
        rules = directory / CLINE_RULES
        if path_exists(rules):
            # A directory above the project must be trusted itself: another user may own it.
            if directory == search.home or search.trusts(directory):
                inside = (path for path in _rule_files(rules) if path.suffix == ".md")
                yield from inside if rules.is_dir() else (rules,)
            return


def _rule_files(folder: Path) -> list[Path]:
    return [path for path in entries_of(folder) if path.suffix in (".md", ".mdc")]


def _rename(rule: Rule, agent: str, used: Rule) -> Rule | None:
    # Projects often repeat the same rules for every agent.
    return None if rule.content == used.content else replace(rule, name=f"{agent}-{rule.name}")


RULES = ResourceKind(name=KIND, parse=parse_rule, key=lambda rule: rule.name, renamed=_rename)

RULE_SOURCES = (
    ResourceSource(kind=KIND, name="pi", priority=100, find=_pi),
    agent_source(KIND, "claude", 80, ".claude/rules", _rule_files),
    agent_source(KIND, "codex", 70, ".codex/rules", _rule_files),
    agent_source(KIND, "agents", 70, ".agents/rules", _rule_files),
    agent_source(KIND, "gemini", 60, ".gemini/rules", _rule_files),
    ResourceSource(kind=KIND, name="cursor", priority=50, find=_cursor),
    ResourceSource(kind=KIND, name="windsurf", priority=50, find=_windsurf),
    ResourceSource(kind=KIND, name="cline", priority=40, find=_cline),
)
"""Of several rules of pi or of one agent with the same name, the first is used. Those of two other
agents are both used: file names such as ``style.md`` are common."""

"""Instruction files: AGENTS.md and similar files of pi, and those of other agents.

``@path`` in a file of Claude Code or Gemini CLI, or below ``.pi``, adds the named file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pi.base.records import Record
from pi.coding.other_agents import CLINE_RULES
from pi.coding.resources.agent_files import AgentFiles, AgentPath
from pi.coding.resources.sources import BadResource, Scope, Warn, parse_document, read_text
from pi.coding.resources.tolerant_files import (
    entries_of,
    first_existing,
    first_file,
    is_file,
    is_folder,
)
from pi.coding.trust import PROJECT_FOLDER, context_files

if TYPE_CHECKING:  # types only: most projects have no rules
    from pi.coding.resources.rules import Rule

MAX_IMPORT_DEPTH = 5
MAX_IMPORTS = 100
"""Maximum imported files of a session: a file can name many others."""
_CODE = r"(?ms)^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)|`[^`\n]*`|<!--.*?(?:-->|\Z)"
_IMPORT = r"(?<![\w@/.`~-])@((?:~/|\.{0,2}/)?(?:[\w.-]|\\ )(?:[\w./-]|\\ )*)"
_EVERYWHERE = frozenset({"**", "**/*", "*"})
_UNCONDITIONAL = ("claude", "cline")
"""Agents whose rules always apply, unless they name files."""


class ContextFile(Record):
    """A file with instructions."""

    path: str
    content: str


class ContextFiles(Record):
    """Context files, from the most general to the nearest."""

    files: tuple[ContextFile, ...] = ()


class InstructionSearch(Record):
    """The directories to search for instructions, and the trust decision."""

    cwd: Path
    agent_dir: Path
    home: Path
    trusts: Callable[[Path], bool]
    rulebook: bool = False
    """Whether the rulebook extension adds rules that always apply to the prompt itself."""


class _Candidate(Record):
    path: Path
    allowed: bool = True
    scope: Scope = "project"
    imports: bool = False
    """Whether ``@path`` adds files."""
    agent: str = ""
    """The agent whose rule it is."""
    is_own: bool = False
    """Whether it is a file that pi reads without any other agent."""
    is_named: bool = False
    """Whether a settings file names it, so that it could be anywhere."""


def find_context_files(
    search: InstructionSearch, warn: Warn, agents: AgentFiles | None = None
) -> ContextFiles:
    """Return the user's files, then those from the root of the file system down to ``cwd``.

    In each directory, instructions of other agents follow those of pi.
    """
    reader = _Reader(search, warn, agents)
    for candidate in _find_candidates(search, agents):
        reader.add(candidate)
    return ContextFiles(files=tuple(reader.files))


def _find_candidates(search: InstructionSearch, agents: AgentFiles | None) -> Iterator[_Candidate]:
    directories = (*reversed(search.cwd.parents), search.cwd)
    own = context_files((search.agent_dir, *directories))
    if (path := own.get(search.agent_dir)) is not None:
        yield _Candidate(path=path, scope="user", imports=_has_imports(path), is_own=True)
    for path in _markdown_files(search.agent_dir / "instructions"):
        yield _Candidate(path=path, scope="user", imports=True)
    agent_paths = () if agents is None else tuple(agents.paths("instructions"))
    if agents is not None:
        yield from _of_user(agents, agent_paths)
    for directory in directories:
        if (path := own.get(directory)) is not None:
            yield _Candidate(
                path=path,
                allowed=search.trusts(directory),
                imports=_has_imports(path),
                is_own=True,
            )
        if agents is not None and directory in agents.directories:
            others = [
                agent_path
                for agent_path in agent_paths
                if _base_directory(agent_path.path) == directory
            ]
            yield from _of_directory(directory, agents, others, has_own=directory in own)
    if agents is not None:
        yield from _of_project(search, agents)


def _of_user(agents: AgentFiles, instructions: Iterable[AgentPath]) -> Iterator[_Candidate]:
    for instruction in instructions:
        if instruction.scope == "user":
            yield from _expand(instruction)
    for plugin in agents.plugins:
        for name in plugin.context:
            yield _Candidate(path=plugin.root / name, scope=plugin.scope, imports=True)


def _of_directory(
    directory: Path, agents: AgentFiles, others: Iterable[AgentPath], *, has_own: bool
) -> Iterator[_Candidate]:
    """Yield the instructions of other agents in one directory of the project."""
    names = agents.settings.context_names
    if not has_own:
        fallback = (name for name in agents.settings.fallback_names if is_file(directory / name))
        names = (*names, *list(fallback)[:1])
    for name in names:
        yield _Candidate(path=directory / name, imports=True)
    for other in others:
        if other.scope == "project":
            yield from _expand(other)


def _of_project(search: InstructionSearch, agents: AgentFiles) -> Iterator[_Candidate]:
    own = (directory / PROJECT_FOLDER / "AGENTS.md" for directory in agents.directories)
    if nearest := first_file(own):
        yield _Candidate(path=nearest, imports=True)
    if search.cwd in agents.directories:
        for path in _markdown_files(search.cwd / PROJECT_FOLDER / "instructions"):
            yield _Candidate(path=path, imports=True)
    for base, pattern, scope in agents.settings.instructions:
        if "://" not in pattern:  # instructions from the network are not fetched
            for path in _matching_files(base, pattern):
                yield _Candidate(path=path, scope=scope, is_named=True)
    for agent_path in (*agents.paths("rules"), *_cline(search, agents)):
        inside = (p for p in entries_of(agent_path.path) if p.suffix in (".md", ".mdc"))
        for path in (agent_path.path,) if is_file(agent_path.path) else inside:
            yield _Candidate(
                path=path, scope=agent_path.scope, agent=agent_path.agent, imports=True
            )


def _cline(search: InstructionSearch, agents: AgentFiles) -> Iterator[AgentPath]:
    """Yield the nearest rules of Cline in ``cwd`` or above, if they may be used."""
    rules = (directory / CLINE_RULES for directory in (search.cwd, *search.cwd.parents))
    if nearest := first_existing(rules):
        used = nearest.parent != search.home and agents.use.in_project("cline")
        if used and search.trusts(nearest.parent):
            yield AgentPath(agent="cline", path=nearest, scope="project")


def _base_directory(path: Path) -> Path:
    """Return the directory that a path such as ``DIRECTORY/.claude/CLAUDE.md`` is for."""
    return path.parent.parent if path.parent.name.startswith(".") else path.parent


def _expand(instruction: AgentPath) -> Iterator[_Candidate]:
    """Yield a file, or the instruction files of a folder."""
    if is_folder(instruction.path):
        for path in entries_of(instruction.path):
            if path.name.endswith(".instructions.md"):
                yield _Candidate(path=path, scope=instruction.scope)
    else:
        yield _Candidate(
            path=instruction.path, scope=instruction.scope, imports=_has_imports(instruction.path)
        )


def _has_imports(path: Path) -> bool:
    """Whether ``@path`` means an import: in AGENTS.md it is text, as in the original."""
    return path.name.startswith(("CLAUDE", "GEMINI"))


def _markdown_files(folder: Path) -> list[Path]:
    return [path for path in entries_of(folder) if path.suffix == ".md"]


def _matching_files(base: Path, pattern: str) -> Iterable[Path]:
    if not set("*?[{") & set(pattern):
        return (base / pattern,)
    from pi.coding.resources.ignore import matching_paths  # lazy: few projects have patterns

    try:
        return sorted(matching_paths(base, pattern.removeprefix("./")))
    except ValueError:  # too large for a pattern
        return ()


class _Reader:
    """Reads each file once, with the files that it imports."""

    def __init__(self, search: InstructionSearch, warn: Warn, agents: AgentFiles | None) -> None:
        self.files: list[ContextFile] = []
        self._where = search
        self._warn = warn
        self._agents = agents
        self._seen: set[str] = set()
        self._imported = 0

    def add(self, candidate: _Candidate) -> None:
        """Add a file, unless it is missing, not trusted, or was added before."""
        real = os.path.realpath(candidate.path)
        if real in self._seen or not is_file(candidate.path):
            return
        self._seen.add(real)
        if not candidate.allowed:
            return
        if candidate.is_named and candidate.scope == "project" and not self._may_import(real):
            self._warn(f"{candidate.path} was not read: it is outside of the project.")
            return
        try:
            content = self._instruction_text(candidate, read_text(candidate.path))
        except BadResource as error:
            self._warn(f"Could not read {candidate.path}: {error.message}")
            return
        # Projects often repeat the same instructions for every agent.
        is_copy = not candidate.is_own and any(content == file.content for file in self.files)
        if not is_copy and (content or candidate.is_own):
            self._append(candidate, content, depth=0)

    def _append(self, candidate: _Candidate, content: str, depth: int) -> None:
        self.files.append(ContextFile(path=str(candidate.path), content=content))
        if candidate.imports:
            for line, name in imports_in(content):
                self._import(candidate, line, name, depth + 1)

    def _import(self, importer: _Candidate, line: int, name: str, depth: int) -> None:
        path = self._where.home / name[2:] if name.startswith("~/") else importer.path.parent / name
        real = os.path.realpath(path)
        if not is_file(path):
            if name.endswith(".md"):  # other words with @ are names of packages or users
                self._warn(f"{importer.path}, line {line}: the import @{name} does not exist.")
            return
        if real in self._seen:
            return
        if depth > MAX_IMPORT_DEPTH or self._imported >= MAX_IMPORTS:
            self._warn(f"{importer.path}, line {line}: @{name} was not read: too many imports.")
            return
        if importer.scope == "project" and not self._may_import(real):
            self._warn(
                f"{importer.path}, line {line}: @{name} was not read: it is outside of the project."
            )
            return
        self._seen.add(real)
        self._imported += 1
        imported = _Candidate(path=path, scope=importer.scope, imports=True)
        try:
            self._append(imported, read_text(path), depth)
        except BadResource as error:
            self._warn(f"{importer.path}, line {line}: @{name} was not read: {error.message}")

    def _may_import(self, real: str) -> bool:
        """Whether a file of the project may import this file.

        It must be in a trusted directory or, if Claude Code is accepted, Markdown in ``~/.claude``.
        """
        directories = self._agents.directories if self._agents else (self._where.cwd,)
        if any(Path(real).is_relative_to(os.path.realpath(directory)) for directory in directories):
            return True
        accepted = self._agents is not None and self._agents.use.of_user("claude")
        own = os.path.realpath(self._where.home / ".claude")
        return accepted and real.endswith(".md") and Path(real).is_relative_to(own)

    def _instruction_text(self, candidate: _Candidate, text: str) -> str:
        if candidate.agent:
            from pi.coding.resources.rules import parse_rule  # lazy: most projects have no rules

            rule = parse_rule(text, candidate.path)
            if rule.problem:
                self._warn(rule.problem)
            return rule.content if self._is_used(rule, candidate) else ""
        if candidate.path.name.endswith(".instructions.md"):
            return _of_copilot(text)
        return text

    def _is_used(self, rule: Rule, candidate: _Candidate) -> bool:
        """Whether a rule applies to every session; other rules need the rulebook."""
        search = self._where
        if not rule.enabled or rule.conditions or rule.ast_conditions:
            return False
        plain = candidate.agent in _UNCONDITIONAL and not rule.globs
        # The rulebook reads rules of the user and of ``cwd``.
        if search.rulebook and (
            candidate.scope == "user" or candidate.path.is_relative_to(search.cwd)
        ):
            return plain and not rule.always_apply and not rule.description
        return plain or rule.always_apply


def _of_copilot(text: str) -> str:
    document = parse_document(text)
    globs = document.meta.get("applyTo")
    body = document.body.strip()
    if not isinstance(globs, str) or globs.strip() in _EVERYWHERE or not body:
        return body
    return f"For files that match {globs}:\n\n{body}"


def imports_in(text: str) -> Iterator[tuple[int, str]]:
    """Yield line and name of each ``@path`` outside of code and comments."""
    plain = re.sub(_CODE, lambda code: re.sub(r"[^\n]", " ", code[0]), text)
    for mention in re.finditer(_IMPORT, plain):
        name = mention[1].replace("\\ ", " ").rstrip(".")
        yield plain.count("\n", 0, mention.start()) + 1, name

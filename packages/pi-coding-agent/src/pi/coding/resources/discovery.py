"""Finds all resources of a session in order of precedence, and applies settings lists of paths.

Prompt files are SYSTEM.md and APPEND_SYSTEM.md.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path, PurePath

from msgspec import field

from pi.agent.skills import Skill
from pi.base.files import expand_home
from pi.base.records import Record, replace
from pi.coding.other_agents import AGENTS, SHARED, AgentUse, project_directories, repository_of
from pi.coding.resources.agent_files import AgentFiles
from pi.coding.resources.instructions import (
    ContextFile,
    ContextFiles,
    InstructionSearch,
    find_context_files,
)
from pi.coding.resources.prompts import PromptTemplate, find_commands, find_prompts
from pi.coding.resources.skills import FoundSkill, find_skills
from pi.coding.resources.sources import (
    INLINE,
    BadResource,
    Place,
    Scope,
    Warn,
    named_places,
    read_text,
)
from pi.coding.resources.tolerant_files import is_file, path_exists


class PromptFiles(Record):
    """Replacement of the base prompt, and text appended to it; empty if not configured."""

    system: str = ""
    append: str = ""


def find_prompt_files(
    cwd: Path,
    agent_dir: Path,
    *,
    trusted: Sequence[Path] = (),
    system: str | None = None,
    append: Sequence[str] = (),
    warn: Warn,
) -> PromptFiles:
    """Find the prompt files. Precedence: command line, ``trusted`` directories, user.

    ``system`` and ``append`` come from the command line: texts, or names of files.
    """
    folders = [*(directory / ".pi" for directory in trusted), agent_dir]
    return PromptFiles(
        system=_first_text(folders, "SYSTEM.md", warn)
        if system is None
        else text_or_file(system, cwd),
        append=(
            "\n\n".join(text_or_file(text, cwd) for text in append)
            if append
            else _first_text(folders, "APPEND_SYSTEM.md", warn)
        ),
    )


def text_or_file(value: str, cwd: Path) -> str:
    """Return the content of the file named ``value`` if it exists, else ``value`` itself.

    Raises ``BadResource`` if the file cannot be read.
    """
    path = cwd / expand_home(value, strict=False) if value and "\n" not in value else None
    if path is None or not os.path.isfile(path):  # noqa: PTH113
        return value
    try:
        return read_text(path)
    except BadResource as error:
        raise BadResource(f"Cannot read {path}: {error.message}.", hint=error.hint) from error


def _first_text(folders: Sequence[Path], name: str, warn: Warn) -> str:
    for folder in folders:
        if is_file(folder / name):
            try:
                return read_text(folder / name)
            except BadResource as error:
                warn(f"Could not read {folder / name}: {error.message}")
    return ""


_PATTERN = frozenset("*?[")


class Selection(Record):
    """A settings list such as ``["skills", "other/*", "!drafts/*", "-old.md", "+drafts/a.md"]``."""

    base: Path
    """The folder that paths are relative to."""
    paths: tuple[Path, ...] = ()
    forced: tuple[Path, ...] = ()
    """``+``: used although something else excludes them."""
    without: tuple[Path, ...] = ()
    """``-``: excluded paths."""
    patterns: tuple[str, ...] = ()
    """``!``: excluded patterns."""

    @classmethod
    def of(cls, entries: Sequence[str], base: Path) -> Selection:
        """Parse ``entries``; patterns are expanded to the files that exist now."""
        plain = [entry for entry in entries if entry[:1] not in ("!", "+", "-")]
        return cls(
            base=base,
            paths=tuple(path for entry in plain for path in _expand(_resolve(entry, base))),
            forced=tuple(_resolve(entry[1:], base) for entry in entries if entry[:1] == "+"),
            without=tuple(_resolve(entry[1:], base) for entry in entries if entry[:1] == "-"),
            patterns=tuple(entry[1:] for entry in entries if entry[:1] == "!"),
        )

    def places(self, scope: Scope) -> tuple[Place, ...]:
        """Return the places to search."""
        return tuple(
            Place(path=path, source="local", scope=scope) for path in (*self.paths, *self.forced)
        )

    def admits(self, path: Path, root: Path) -> bool:
        """Whether a resource at ``path``, found below ``root``, may be used.

        A pattern matches paths relative to ``root`` or ``base``, names, and parent folders.
        """
        if any(path.is_relative_to(forced) for forced in self.forced):
            return True
        if any(path.is_relative_to(excluded) for excluded in self.without):
            return False
        if not self.patterns:
            return True
        from pi.coding.resources.ignore import compile_glob  # lazy: most lists have no patterns

        names = set(_matchable_names(path, (root, self.base)))
        globs = (compile_glob(pattern.removeprefix("./").rstrip("/")) for pattern in self.patterns)
        return not any(glob.fullmatch(name) for glob in globs for name in names)


def _matchable_names(path: Path, roots: Sequence[Path]) -> Iterator[str]:
    """Yield the names of a file that patterns may match: relative, absolute, or its base name."""
    paths: list[PurePath] = [path, PurePath(path.name)]
    paths += (path.relative_to(root) for root in roots if path.is_relative_to(root))
    for candidate in paths:
        yield candidate.as_posix()
        yield from (folder.as_posix() for folder in candidate.parents)


def _expand(path: Path) -> tuple[Path, ...]:
    """Return the path, or the sorted matches if it is a pattern."""
    if not _PATTERN & set(str(path)) or path.exists():
        return (path,)
    from pi.coding.resources.ignore import matching_paths  # lazy: most lists have no patterns

    root = Path(path.anchor)
    try:
        return tuple(matching_paths(root, path.relative_to(root).as_posix()))
    except ValueError:  # too large for a pattern: take it literally
        return (path,)


def _resolve(entry: str, base: Path) -> Path:
    return base / expand_home(entry, strict=False)


class ProvidedResources(Record):
    """Resources passed in by a program that embeds pi."""

    append_prompt: str = ""
    """Replaces APPEND_SYSTEM.md."""
    context: tuple[ContextFile, ...] = ()
    skills: tuple[Skill, ...] = ()
    prompts: tuple[PromptTemplate, ...] = ()


class ResourceOptions(Record):
    """Options of the command line, or of a program that embeds pi."""

    context_files: bool = True
    skills: bool = True
    """Whether skills are discovered; explicit paths are always used."""
    skill_paths: tuple[str, ...] = ()
    prompts: bool = True
    prompt_paths: tuple[str, ...] = ()
    system_prompt: str | None = None
    append_system_prompt: tuple[str, ...] = ()
    provided: ProvidedResources = ProvidedResources()
    """These come first, and need no trust: they are not read from disk."""


class SkillNames(Record):
    """``includeSkills`` and ``ignoredSkills`` of the settings: patterns of names."""

    include: tuple[str, ...] = ()
    """Empty: all skills."""
    ignore: tuple[str, ...] = ()

    def admits(self, name: str) -> bool:
        """Whether a skill with this name is used."""
        if any(fnmatchcase(name, pattern) for pattern in self.ignore):
            return False
        return not self.include or any(fnmatchcase(name, pattern) for pattern in self.include)


class ResourceLists(Record):
    """The lists of a settings file, and the folder that their paths are relative to."""

    base: Path
    skills: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()


class Resources(Record):
    """The resources that were found, and warnings."""

    context: ContextFiles = ContextFiles()
    prompt_files: PromptFiles = PromptFiles()
    skills: tuple[FoundSkill, ...] = ()
    prompts: tuple[PromptTemplate, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    """Variables for commands, from settings of other agents."""
    warnings: tuple[str, ...] = ()


class ResourceSearch(Record):
    """The places to search for resources, and the trust decisions."""

    cwd: Path
    agent_dir: Path
    home: Path
    trusted: bool
    trusts: Callable[[Path], bool]
    user: ResourceLists
    project: ResourceLists
    extra: tuple[Place, ...] = ()
    """Skill folders of packages and extensions."""
    extra_prompts: tuple[Place, ...] = ()
    names: SkillNames = SkillNames()
    use: AgentUse = AgentUse()
    """The other agents whose files are used."""
    rulebook: bool = False
    """Whether an extension puts rules into the prompt."""

    @property
    def directories(self) -> tuple[Path, ...]:
        """The trusted directories of the project, nearest first."""
        every = (self.cwd, *project_directories(self.cwd, self.home)[1:])
        return tuple(
            directory
            for directory in every
            if (self.trusted if directory == self.cwd else self.trusts(directory))
        )


def discover(options: ResourceOptions, search: ResourceSearch) -> Resources:
    """Search all places. Only trusted files are opened."""
    warnings: list[str] = []
    directories = search.directories
    agents = AgentFiles(search.cwd, search.home, search.use, search.trusts, warnings.append)
    context = ContextFiles()
    if options.context_files:
        instruction_search = InstructionSearch(
            cwd=search.cwd,
            agent_dir=search.agent_dir,
            home=search.home,
            trusts=search.trusts,
            rulebook=search.rulebook,
        )
        context = find_context_files(instruction_search, warnings.append, agents)
    provided = options.provided
    prompt_files = find_prompt_files(
        search.cwd,
        search.agent_dir,
        trusted=directories,
        system=options.system_prompt,
        append=options.append_system_prompt,
        warn=warnings.append,
    )
    return Resources(
        context=replace(context, files=provided.context + context.files),
        prompt_files=replace(prompt_files, append=provided.append_prompt or prompt_files.append),
        skills=(
            *(FoundSkill(skill=skill, source=INLINE) for skill in provided.skills),
            *_admitted_skills(options, search, directories, agents, warnings.append),
        ),
        prompts=(
            *provided.prompts,
            *_admitted_prompts(options, search, directories, agents, warnings.append),
        ),
        variables=agents.variables(),
        warnings=tuple(warnings),
    )


def _admitted_skills(
    options: ResourceOptions,
    search: ResourceSearch,
    directories: Sequence[Path],
    agents: AgentFiles,
    warn: Warn,
) -> tuple[FoundSkill, ...]:
    selections = _selections(search, "skills")
    locations = [
        *named_places(options.skill_paths, search.cwd),
        *(_skill_places(search, directories, selections, agents) if options.skills else ()),
    ]
    skills = find_skills(
        _existing_places(locations, "Skill", warn), warn, partial(_admits, selections)
    )
    admits = search.names.admits
    return tuple(
        skill for skill in skills if skill.source.source == "cli" or admits(skill.skill.name)
    )


def _admitted_prompts(
    options: ResourceOptions,
    search: ResourceSearch,
    directories: Sequence[Path],
    agents: AgentFiles,
    warn: Warn,
) -> tuple[PromptTemplate, ...]:
    selections = _selections(search, "prompts")
    locations = [
        *named_places(options.prompt_paths, search.cwd),
        *(_prompt_places(search, directories, selections) if options.prompts else ()),
    ]
    existing = _existing_places(locations, "Prompt template", warn)
    admits = partial(_admits, selections)
    prompts = find_prompts(existing, warn, admits)
    if not options.prompts:
        return prompts
    prompts += find_commands(_command_places(search, directories, agents), warn, prompts, admits)
    names = {prompt.name for prompt in prompts}
    return prompts + tuple(
        command for command in agents.settings.commands if command.name not in names
    )


def _skill_places(
    search: ResourceSearch,
    directories: Sequence[Path],
    selections: Sequence[Selection],
    agents: AgentFiles,
) -> Iterator[Place]:
    for directory in directories:
        yield Place(path=directory / ".pi" / "skills", scope="project")
    if search.use.in_project(SHARED):
        for directory in _up_to_repository(search.cwd):
            if directory != search.home and search.trusts(directory):
                yield Place(path=directory / ".agents" / "skills", scope="project")
    yield Place(path=search.agent_dir / "skills")
    if search.use.of_user(SHARED):
        yield Place(path=search.home / ".agents" / "skills")
    yield from _listed_places(selections)
    yield from search.extra
    yield from (location for location in agents.places("skills") if location.source != SHARED)


def _command_places(
    search: ResourceSearch, directories: Sequence[Path], agents: AgentFiles
) -> Iterator[Place]:
    for directory in directories:
        base = directory / ".pi"
        yield Place(path=base / "commands", scope="project", base=base)
    yield Place(path=search.agent_dir / "commands", base=search.agent_dir)
    yield from agents.places("commands")


def _prompt_places(
    search: ResourceSearch, directories: Sequence[Path], selections: Sequence[Selection]
) -> Iterator[Place]:
    for directory in directories:
        base = directory / ".pi"
        yield Place(path=base / "prompts", scope="project", base=base)
    yield Place(path=search.agent_dir / "prompts", base=search.agent_dir)
    yield from _listed_places(selections)
    yield from search.extra_prompts


def _selections(search: ResourceSearch, name: str) -> tuple[Selection, Selection]:
    """Return the selections of the project and of the user."""
    project = getattr(search.project, name) if search.trusted else ()
    return (
        Selection.of(project, search.project.base),
        Selection.of(getattr(search.user, name), search.user.base),
    )


def _listed_places(selections: Sequence[Selection]) -> Iterator[Place]:
    project, user = selections
    yield from project.places("project")
    yield from user.places("user")


def _existing_places(locations: Sequence[Place], what: str, warn: Warn) -> Iterator[Place]:
    """Yield existing places; warn about missing ones unless they are default places."""
    for location in locations:
        if location.source == "auto" or location.source in AGENTS or path_exists(location.path):
            yield location
        else:
            warn(f"{what} {location.path} does not exist.")


def _admits(selections: Sequence[Selection], path: Path, location: Place) -> bool:
    if location.source == "cli":
        return True
    return all(selection.admits(path, location.folder) for selection in selections)


def _up_to_repository(cwd: Path) -> Iterator[Path]:
    """Yield directories from ``cwd`` up to its repository, or to the root of the file system."""
    repository = repository_of(cwd)
    for directory in (cwd, *cwd.parents):
        yield directory
        if directory == repository:
            return

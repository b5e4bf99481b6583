"""Everything that is found for one session, in the order in which names win."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path, PurePath

from pi.agent.skills import Skill
from pi.base.files import expand_home
from pi.base.records import Record, replace
from pi.coding.resources.context_files import (
    ContextFile,
    ContextFiles,
    PromptFiles,
    find_context_files,
    find_prompt_files,
)
from pi.coding.resources.prompts import PromptTemplate, find_prompts
from pi.coding.resources.skills import FoundSkill, find_skills
from pi.coding.resources.sources import (
    INLINE,
    Place,
    Scope,
    Warn,
    named_places,
    path_exists,
    repository_of,
)

# Paths of a settings list: what to look at, and what of it to leave out.


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
        from pi.coding.resources.ignore import compile_glob  # most lists have no patterns

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
    from pi.coding.resources.ignore import matching_paths  # most lists have no patterns

    root = Path(path.anchor)
    try:
        return tuple(matching_paths(root, path.relative_to(root).as_posix()))
    except ValueError:  # too large to be meant as a pattern
        return (path,)


def _resolved(entry: str, base: Path) -> Path:
    return base / expand_home(entry, strict=False)


class ProvidedResources(Record):
    """Resources that a program which embeds pi brings along, ready made."""

    append_prompt: str = ""
    """In place of APPEND_SYSTEM.md."""
    context: tuple[ContextFile, ...] = ()
    skills: tuple[Skill, ...] = ()
    prompts: tuple[PromptTemplate, ...] = ()


class ResourceOptions(Record):
    """What the command line, or a program that embeds pi, says of resources."""

    context_files: bool = True
    skills: bool = True
    """Whether they are discovered; explicit ones are always taken."""
    skill_paths: tuple[str, ...] = ()
    prompts: bool = True
    prompt_paths: tuple[str, ...] = ()
    system_prompt: str | None = None
    append_system_prompt: tuple[str, ...] = ()
    provided: ProvidedResources = ProvidedResources()
    """Come first, and need no trust: nothing of them is read here."""


class ResourceLists(Record):
    """The lists of a settings file, and the folder that their paths start from."""

    base: Path
    skills: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()


class Resources(Record):
    """What was found, and what went wrong meanwhile."""

    context: ContextFiles = ContextFiles()
    prompt_files: PromptFiles = PromptFiles()
    skills: tuple[FoundSkill, ...] = ()
    prompts: tuple[PromptTemplate, ...] = ()
    warnings: tuple[str, ...] = ()


class ResourceSearch(Record):
    """Where to look."""

    cwd: Path
    agent_dir: Path
    home: Path
    trusted: bool
    trusts: Callable[[Path], bool]
    user: ResourceLists
    project: ResourceLists
    extra: tuple[Place, ...] = ()
    """Folders of packages and extensions that hold skills."""
    extra_prompts: tuple[Place, ...] = ()


def discover(options: ResourceOptions, where: ResourceSearch) -> Resources:
    """Look everywhere once. Only what is trusted is opened."""
    warnings: list[str] = []
    context = ContextFiles()
    if options.context_files:
        context = find_context_files(
            where.cwd, where.agent_dir, trusts=where.trusts, warn=warnings.append
        )
    provided = options.provided
    prompt_files = find_prompt_files(
        where.cwd,
        where.agent_dir,
        trusted=where.trusted,
        system=options.system_prompt,
        append=options.append_system_prompt,
        warn=warnings.append,
    )
    return Resources(
        context=replace(context, files=provided.context + context.files),
        prompt_files=replace(prompt_files, append=provided.append_prompt or prompt_files.append),
        skills=(
            *(FoundSkill(skill=skill, source=INLINE) for skill in provided.skills),
            *_admitted_skills(options, where, warnings.append),
        ),
        prompts=provided.prompts + _admitted_prompts(options, where, warnings.append),
        warnings=tuple(warnings),
    )


def _admitted_skills(
    options: ResourceOptions, where: ResourceSearch, warn: Warn
) -> tuple[FoundSkill, ...]:
    selections = _selections(where, "skills")
    places = [
        *named_places(options.skill_paths, where.cwd),
        *(_skill_places(where, selections) if options.skills else ()),
    ]
    return find_skills(_existing(places, "Skill", warn), warn, partial(_admits, selections))


def _admitted_prompts(
    options: ResourceOptions, where: ResourceSearch, warn: Warn
) -> tuple[PromptTemplate, ...]:
    selections = _selections(where, "prompts")
    places = [
        *named_places(options.prompt_paths, where.cwd),
        *(_prompt_places(where, selections) if options.prompts else ()),
    ]
    there = _existing(places, "Prompt template", warn)
    return find_prompts(there, warn, partial(_admits, selections))


def _skill_places(where: ResourceSearch, selections: Sequence[Selection]) -> Iterator[Place]:
    if where.trusted:
        yield Place(path=where.cwd / ".pi" / "skills", scope="project")
    for directory in _up_to_repository(where.cwd):
        if directory != where.home and where.trusts(directory):
            yield Place(path=directory / ".agents" / "skills", scope="project")
    yield Place(path=where.agent_dir / "skills")
    yield Place(path=where.home / ".agents" / "skills")
    yield from _listed(selections)
    yield from where.extra


def _prompt_places(where: ResourceSearch, selections: Sequence[Selection]) -> Iterator[Place]:
    if where.trusted:
        yield Place(path=where.cwd / ".pi" / "prompts", scope="project")
    yield Place(path=where.agent_dir / "prompts")
    yield from _listed(selections)
    yield from where.extra_prompts


def _selections(where: ResourceSearch, name: str) -> tuple[Selection, Selection]:
    """What the project's and the person's list say."""
    project = getattr(where.project, name) if where.trusted else ()
    return (
        Selection.of(project, where.project.base),
        Selection.of(getattr(where.user, name), where.user.base),
    )


def _listed(selections: Sequence[Selection]) -> Iterator[Place]:
    project, user = selections
    yield from project.places("project")
    yield from user.places("user")


def _existing(places: Sequence[Place], what: str, warn: Warn) -> Iterator[Place]:
    """Places that are there; of those that somebody has named, others are told."""
    for place in places:
        if place.source == "auto" or path_exists(place.path):
            yield place
        else:
            warn(f"{what} {place.path} does not exist.")


def _admits(selections: Sequence[Selection], path: Path, place: Place) -> bool:
    if place.source == "cli":
        return True
    return all(selection.admits(path, place.folder) for selection in selections)


def _up_to_repository(cwd: Path) -> Iterator[Path]:
    """Directories from ``cwd`` to the root of its repository; without one, of the file system."""
    repository = repository_of(cwd)
    for directory in (cwd, *cwd.parents):
        yield directory
        if directory == repository:
            return

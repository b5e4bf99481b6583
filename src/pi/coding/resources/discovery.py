"""Everything that is found for one session, in the order in which names win."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from pi.agent.skills import Skill
from pi.base.records import Record, replace
from pi.coding.resources.context_files import ContextFile, ContextFiles, find_context_files
from pi.coding.resources.folders import is_there, repository_of
from pi.coding.resources.prompt_files import PromptFiles, find_prompt_files
from pi.coding.resources.prompts import PromptTemplate, find_prompts
from pi.coding.resources.selection import Selection
from pi.coding.resources.skills import FoundSkill, find_skills
from pi.coding.resources.source import INLINE, Place, Warn, named_places


class Brought(Record):
    """Resources that a program which embeds pi brings along, ready made."""

    append_prompt: str = ""
    """In place of APPEND_SYSTEM.md."""
    context: tuple[ContextFile, ...] = ()
    skills: tuple[Skill, ...] = ()
    prompts: tuple[PromptTemplate, ...] = ()


class Wanted(Record):
    """What the command line, or a program that embeds pi, says of resources."""

    context_files: bool = True
    skills: bool = True
    """Whether they are discovered; explicit ones are always taken."""
    skill_paths: tuple[str, ...] = ()
    prompts: bool = True
    prompt_paths: tuple[str, ...] = ()
    system_prompt: str | None = None
    append_system_prompt: tuple[str, ...] = ()
    brought: Brought = Brought()
    """Come first, and need no trust: nothing of them is read here."""


class Lists(Record):
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


class Surroundings(Record):
    """Where to look."""

    cwd: Path
    agent_dir: Path
    home: Path
    trusted: bool
    trusts: Callable[[Path], bool]
    user: Lists
    project: Lists
    extra: tuple[Place, ...] = ()
    """Folders of packages and extensions that hold skills."""
    extra_prompts: tuple[Place, ...] = ()


def discover(wanted: Wanted, where: Surroundings) -> Resources:
    """Look everywhere once. Only what is trusted is opened."""
    warnings: list[str] = []
    context = ContextFiles()
    if wanted.context_files:
        context = find_context_files(
            where.cwd, where.agent_dir, trusts=where.trusts, warn=warnings.append
        )
    brought = wanted.brought
    prompt_files = find_prompt_files(
        where.cwd,
        where.agent_dir,
        trusted=where.trusted,
        system=wanted.system_prompt,
        append=wanted.append_system_prompt,
        warn=warnings.append,
    )
    return Resources(
        context=replace(context, files=brought.context + context.files),
        prompt_files=replace(prompt_files, append=brought.append_prompt or prompt_files.append),
        skills=(
            *(FoundSkill(skill=skill, source=INLINE) for skill in brought.skills),
            *_admitted_skills(wanted, where, warnings.append),
        ),
        prompts=brought.prompts + _admitted_prompts(wanted, where, warnings.append),
        warnings=tuple(warnings),
    )


def _admitted_skills(wanted: Wanted, where: Surroundings, warn: Warn) -> tuple[FoundSkill, ...]:
    selections = _selections(where, "skills")
    places = [
        *named_places(wanted.skill_paths, where.cwd),
        *(_skill_places(where, selections) if wanted.skills else ()),
    ]
    return find_skills(_existing(places, "Skill", warn), warn, partial(_admits, selections))


def _admitted_prompts(
    wanted: Wanted, where: Surroundings, warn: Warn
) -> tuple[PromptTemplate, ...]:
    selections = _selections(where, "prompts")
    places = [
        *named_places(wanted.prompt_paths, where.cwd),
        *(_prompt_places(where, selections) if wanted.prompts else ()),
    ]
    there = _existing(places, "Prompt template", warn)
    return find_prompts(there, warn, partial(_admits, selections))


def _skill_places(where: Surroundings, selections: Sequence[Selection]) -> Iterator[Place]:
    if where.trusted:
        yield Place(path=where.cwd / ".pi" / "skills", scope="project")
    for directory in _up_to_repository(where.cwd):
        if directory != where.home and where.trusts(directory):
            yield Place(path=directory / ".agents" / "skills", scope="project")
    yield Place(path=where.agent_dir / "skills")
    yield Place(path=where.home / ".agents" / "skills")
    yield from _listed(selections)
    yield from where.extra


def _prompt_places(where: Surroundings, selections: Sequence[Selection]) -> Iterator[Place]:
    if where.trusted:
        yield Place(path=where.cwd / ".pi" / "prompts", scope="project")
    yield Place(path=where.agent_dir / "prompts")
    yield from _listed(selections)
    yield from where.extra_prompts


def _selections(where: Surroundings, name: str) -> tuple[Selection, Selection]:
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
        if place.source == "auto" or is_there(place.path):
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

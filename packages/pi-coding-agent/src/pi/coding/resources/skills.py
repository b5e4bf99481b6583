"""Finds and parses skill files."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pi.agent.skills import Skill
from pi.base.formats import Document
from pi.base.records import Record
from pi.coding.other_agents import AGENTS
from pi.coding.resources.sources import (
    Admits,
    BadResource,
    Place,
    SourceInfo,
    Warn,
    admit_all,
    parse_document,
    read_document,
)
from pi.coding.resources.tolerant_files import entries_of, first_file, is_file, is_folder

if TYPE_CHECKING:
    from pi.coding.resources.ignore import Rules

log = logging.getLogger(__name__)

SKILL_FILE = "SKILL.md"
MAX_NAME, MAX_DESCRIPTION = 64, 1024
SKIPPED_FOLDERS = frozenset({"node_modules", "__pycache__", ".git", ".venv", "venv"})
IGNORE_FILES = (".gitignore", ".ignore", ".fdignore")
"""Files with patterns of paths that are not searched for skills.

Only those in and below the search root are read: those above it may ignore installed packages.
"""
MAX_DEPTH = 8
MAX_FOLDERS = 2000
"""Maximum folders of one search: a link may lead to the root of the file system."""
_NAME = r"[a-z0-9]+(?:-[a-z0-9]+)*"


class FoundSkill(Record):
    """A skill and its source."""

    skill: Skill
    source: SourceInfo


def find_skills(
    locations: Iterable[Place], warn: Warn, admits: Admits = admit_all
) -> tuple[FoundSkill, ...]:
    """Return the admitted skills of ``locations``; the first with a name is used."""
    skills: dict[str, FoundSkill] = {}
    seen: set[str] = set()
    for location in locations:
        for path in skill_files(location.path):
            if location.source in AGENTS and path.name != SKILL_FILE:
                continue  # other agents support only folders with that file
            real = os.path.realpath(path)
            if real in seen or not admits(path, location):
                continue
            seen.add(real)
            skill = load_skill(path, warn)
            if skill is None:
                continue
            if (earlier := skills.get(skill.name)) is not None:
                if location.source in AGENTS:
                    continue  # projects often repeat the same skill for every agent
                warn(f'Skill "{skill.name}" at {path} is hidden by {earlier.skill.location}')
                continue
            skills[skill.name] = FoundSkill(skill=skill, source=location.info(path))
    return tuple(skills.values())


def load_skill(path: Path, warn: Warn) -> Skill | None:
    """Load a skill. Returns ``None`` with a warning if it is broken."""
    try:
        document = read_document(path)
        return _make_skill(path, document, warn)
    except BadResource as error:
        warn(f"Skill {path} was not loaded: {error.message}")
        return None


def parse_skill(text: str, path: Path) -> Skill:
    """Parse the text of a skill file. Raises ``BadResource``."""
    return _make_skill(path, parse_document(text), log.info)


def skill_files(root: Path) -> Iterator[Path]:
    """Yield the skill files below ``root``; the folder of a skill is not searched further."""
    if single := first_file((root, root / SKILL_FILE)):
        yield single
    else:
        folder = _Folder(root)
        yield from _loose_files(folder)
        yield from _skill_folders(folder, MAX_DEPTH, {os.path.realpath(root)})


def _make_skill(path: Path, document: Document, warn: Warn) -> Skill:
    meta = document.meta
    name = meta.get("name")
    if not isinstance(name, str) or not name.strip():
        name = path.parent.name if path.name == SKILL_FILE else path.stem
    name = name.strip()
    description = meta.get("description")
    if not isinstance(description, str) or not description.strip():
        raise BadResource("description is required")
    description = description.strip()
    if len(name) > MAX_NAME or re.fullmatch(_NAME, name) is None:
        allowed = f"a-z, 0-9 and single hyphens, at most {MAX_NAME} characters"
        warn(f'Skill {path}: the name "{name}" should be {allowed}')
    if len(description) > MAX_DESCRIPTION:
        warn(f"Skill {path}: the description is longer than {MAX_DESCRIPTION} characters")
    return Skill(
        name=name,
        description=description,
        location=str(path),
        content=document.body,
        disable_model_invocation=meta.get("disable-model-invocation") is True,
    )


class _Folder:
    """A folder with the ignore rules of itself and of the folders above it up to the root."""

    def __init__(self, path: Path, base: str = "", rules: Rules = ()) -> None:
        self._base = base
        self._inside = entries_of(path)
        if any(entry.name in IGNORE_FILES for entry in self._inside):
            from pi.coding.resources.ignore import rules_in  # lazy: few folders have such files

            rules += rules_in(path, IGNORE_FILES, base=base)
        self._rules = rules

    def entries(self) -> Iterator[Path]:
        """Yield the entries that are not ignored, sorted by name."""
        for entry in self._inside:
            if not self._rules or not self._ignores(entry):
                yield entry

    def below(self, folder: Path) -> _Folder:
        """Return a subfolder."""
        return _Folder(folder, f"{self._base}{folder.name}/", self._rules)

    def _ignores(self, entry: Path) -> bool:
        from pi.coding.resources.ignore import is_ignored  # lazy: few folders have such files

        return is_ignored(f"{self._base}{entry.name}", self._rules, is_folder=is_folder(entry))


def _loose_files(root: _Folder) -> Iterator[Path]:
    """Yield Markdown files directly in a folder of skills, except README files."""
    for entry in root.entries():
        if entry.suffix == ".md" and entry.stem.upper() != "README" and is_file(entry):
            yield entry


def _skill_folders(root: _Folder, depth: int, seen: set[str]) -> Iterator[Path]:
    for folder in root.entries():
        if folder.name in SKIPPED_FOLDERS or folder.name.startswith(".") or not is_folder(folder):
            continue
        if is_file(folder / SKILL_FILE):
            yield folder / SKILL_FILE
        elif depth > 1 and (real := os.path.realpath(folder)) not in seen:
            # Visit each folder once: links between folders would multiply the paths.
            seen.add(real)
            if len(seen) > MAX_FOLDERS:
                log.warning("%s: too many folders; the rest is not searched for skills", folder)
                return
            yield from _skill_folders(root.below(folder), depth - 1, seen)

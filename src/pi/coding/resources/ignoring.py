"""Which files git and search tools would pass over, as their rule files say."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeAlias

from pi.base.files import read_regular
from pi.coding.resources.folders import repository_of
from pi.coding.resources.globs import compile_glob

log = logging.getLogger(__name__)

GIT_FILE = ".gitignore"
OTHER_FILES = (".ignore", ".rgignore")
"""Rules of search tools; they hold outside of a repository too and beat git's."""

LARGEST = 1024 * 1024
"""Bytes of a rule file."""
MOST_RULES = 10_000
"""Rules of one file that count; every name is compared with all of them."""


class Rule(NamedTuple):
    """One line of a rule file."""

    base: str
    """Folder of the file below the root of a search: empty, or ending in ``/``."""
    lead: str
    """What stands between the file's folder and the root, if it is a folder above."""
    matches: re.Pattern[str]
    """Of paths as they are seen from the file's folder."""
    keeps: bool
    """Written with ``!``: what was ignored is not, after all."""
    only_folders: bool


Rules: TypeAlias = tuple[Rule, ...]
"""Later rules beat earlier ones."""


class IgnoreTree:
    """The rules that hold below ``root``, read folder by folder as they are asked for.

    With ``require_git``, git's rules count only inside a repository. A repository inside another
    one knows nothing of the outer one's rules.
    """

    def __init__(self, root: Path, *, home: Path, require_git: bool) -> None:
        self._root = root
        repository = repository_of(root)
        self._git = repository is not None or not require_git
        above = _rules_above(root, repository, home) if repository else ()
        self._known: dict[str, tuple[Rules, Rules]] = {"": self._inside("", above, ())}

    def ignores(self, path: str, *, is_folder: bool) -> bool:
        """Whether ``path`` is ignored, given that the folder it is in is not."""
        git, other = self._rules(path.rpartition("/")[0])
        return is_ignored(path, git + other, is_folder=is_folder)

    def _rules(self, folder: str) -> tuple[Rules, Rules]:
        if folder not in self._known:
            above = self._rules(folder.rpartition("/")[0])
            self._known[folder] = self._inside(folder, *above)
        return self._known[folder]

    def _inside(self, folder: str, git: Rules, other: Rules) -> tuple[Rules, Rules]:
        place, base = self._root / folder, f"{folder}/" if folder else ""
        inner_repository = bool(folder) and (place / ".git").exists()
        if inner_repository:
            git = rules_in(place / ".git" / "info", ["exclude"], base=base)
        if self._git or inner_repository:
            git += rules_in(place, [GIT_FILE], base=base)
        return git, other + rules_in(place, OTHER_FILES, base=base)


def parse_rules(text: str, *, base: str = "", lead: str = "") -> Rules:
    """The rules of a file; lines that say nothing are left out."""
    rules = (_rule(line, base, lead) for line in text.splitlines())
    return tuple(islice((rule for rule in rules if rule is not None), MOST_RULES))


def is_ignored(path: str, rules: Rules, *, is_folder: bool) -> bool:
    """Whether the last rule that speaks of ``path`` ignores it."""
    for rule in reversed(rules):
        if rule.only_folders and not is_folder:
            continue
        if path.startswith(rule.base) and rule.matches.fullmatch(
            rule.lead + path[len(rule.base) :]
        ):
            return not rule.keeps
    return False


def rules_in(folder: Path, names: Iterable[str], *, base: str = "", lead: str = "") -> Rules:
    """The rules of those files of a folder that can be read."""
    rules: Rules = ()
    for name in names:
        try:
            text = read_regular(folder / name, most=LARGEST).decode("utf-8-sig", "replace")
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as problem:
            log.warning("The rules in %s are not used: %s", folder / name, problem.strerror)
            continue
        found = parse_rules(text, base=base, lead=lead)
        if len(found) == MOST_RULES:
            log.warning("Only the first %d rules of %s are used", MOST_RULES, folder / name)
        rules += found
    return rules


def _rules_above(root: Path, repository: Path, home: Path) -> Rules:
    """Rules of the person and of the folders between the repository and the root of a search."""
    below = root.relative_to(repository).parts
    lead = "".join(f"{part}/" for part in below)
    rules = rules_in(home / ".config" / "git", ["ignore"], lead=lead)
    rules += rules_in(repository / ".git" / "info", ["exclude"], lead=lead)
    for depth in range(len(below)):
        lead = "".join(f"{part}/" for part in below[depth:])
        rules += rules_in(repository.joinpath(*below[:depth]), [GIT_FILE], lead=lead)
    return rules


def _rule(line: str, base: str, lead: str) -> Rule | None:
    line = _without_blanks(line)
    if not line or line.startswith("#"):
        return None
    keeps = line.startswith("!")
    pattern = line[keeps:]
    only_folders = pattern.endswith("/")
    pattern = pattern.rstrip("/")
    if not pattern:
        return None
    anchored = pattern.removeprefix("/") if "/" in pattern else f"**/{pattern}"
    return Rule(base, lead, compile_glob(anchored, braces=False), keeps, only_folders)


def _without_blanks(line: str) -> str:
    """The line up to the blanks at its end, of which a backslash keeps one."""
    short = line.rstrip()
    return line[: len(short) + 1] if short.endswith("\\") else short

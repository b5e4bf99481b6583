"""Patterns for file names, as ripgrep, fd and git understand them. Pure.

Patterns come from projects, packages and models, so no pattern may take long. A pattern becomes a
regular expression that never tries a second way to match: every ``*`` takes the first place where
what follows it fits, in an atomic group. That is enough, because the rest of a name has no more
room if a star takes a later one. Alternatives would break this, so braces are expanded first, and
a pattern with too many of them matches nothing.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeAlias

from pi.base.files import read_regular
from pi.coding.resources.sources import (
    MAX_TREE_ENTRIES,
    entries_of,
    is_folder,
    repository_of,
    walk_below,
)

log = logging.getLogger(__name__)


MAX_PATTERN_LENGTH = 4096
"""Characters of a pattern, after which no path of an operating system is left to match."""
MAX_ALTERNATIVES = 256
"""How many patterns the braces of one may stand for."""
MAX_EXPANDED_LENGTH = 32_768
"""Characters of all of them together, with those on the way."""

_FOLDERS = ["*", "*"]
_NEVER = re.compile("(?!)")


class PatternTooLarge(ValueError):
    """A pattern that would take too long; the message says why."""


@lru_cache(maxsize=1024)
def compile_glob(
    pattern: str, *, ignore_case: bool = False, braces: bool = True
) -> re.Pattern[str]:
    """A regular expression for ``fullmatch`` with whole paths that use ``/``.

    ``*`` and ``?`` stay within one part of a path and ``**`` crosses parts; ``[a-z]``, ``[!a]``,
    ``{a,b}`` (unless ``braces`` is off, as for git) and ``\\`` before a character work as usual.
    What is not closed stands for itself. A pattern that is invalid otherwise is taken literally,
    one that is too large matches nothing; ``expand_braces`` says which are.
    """
    flags = re.DOTALL | (re.IGNORECASE if ignore_case else 0)
    try:
        alternatives = expand_braces(pattern) if braces else [_checked(pattern)]
    except PatternTooLarge:
        return _NEVER
    try:
        return re.compile("|".join(map(_expression, alternatives)), flags)
    except re.error:  # such as the range [z-a]
        return re.compile(re.escape(pattern), flags)


def expand_braces(pattern: str) -> list[str]:
    """The patterns without braces that ``pattern`` stands for; ``PatternTooLarge`` if too many."""
    waiting, expanded, looked_at = [_checked(pattern)], list[str](), 0
    while waiting:
        text = waiting.pop()
        looked_at += len(text)
        if (span := _first_braces(text)) is None:
            expanded.append(text)
        else:
            start, end = span
            waiting += (
                text[:start] + choice + text[end + 1 :]
                for choice in reversed(_choices(text[start + 1 : end]))
            )
        if len(waiting) + len(expanded) > MAX_ALTERNATIVES or looked_at > MAX_EXPANDED_LENGTH:
            raise PatternTooLarge(f"its braces stand for more than {MAX_ALTERNATIVES} patterns")
    return expanded


def _checked(pattern: str) -> str:
    if len(pattern) > MAX_PATTERN_LENGTH:
        raise PatternTooLarge(f"it is longer than {MAX_PATTERN_LENGTH} characters")
    return pattern


def _units(pattern: str) -> Iterator[tuple[int, str]]:
    """Characters that belong together: an escaped one, a class, or a single one, with its place."""
    at = 0
    while at < len(pattern):
        end = at + 1
        if pattern[at] == "\\" and end < len(pattern):
            end += 1
        elif pattern[at] == "[":
            end = _class_end(pattern, at) or end
        yield at, pattern[at:end]
        at = end


def _class_end(pattern: str, at: int) -> int | None:
    """Behind the class that begins at ``at``; ``]`` right at its beginning is a member."""
    first = at + 1 + (pattern[at + 1 : at + 2] in ("!", "^"))
    end = pattern.find("]", first + 1)
    return end + 1 if end > 0 else None


def _first_braces(text: str) -> tuple[int, int] | None:
    """Where the first braces that are closed open and close."""
    opened: list[int] = []
    closed: list[tuple[int, int]] = []
    for at, unit in _units(text):
        if unit == "{":
            opened.append(at)
        elif unit == "}" and opened:
            closed.append((opened.pop(), at))
    return min(closed, default=None)


def _choices(inside: str) -> list[str]:
    """What commas separate, except those inside inner braces."""
    parts, depth = [""], 0
    for _, unit in _units(inside):
        depth += (unit == "{") - (unit == "}")
        if unit == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += unit
    return parts


# Expressions --------------------------------------------------------------------------------------


def _expression(pattern: str) -> str:
    """The expression for a pattern without braces."""
    first, *others = _runs(pattern)
    if not others:
        return "/".join(first)
    out = "".join(f"{part}/" for part in first)
    for run in others[:-1]:
        out += f"(?>(?:[^/]*/)*?{'/'.join(run)}/)"
    last = others[-1]
    if not last:
        return f"{out}.*"
    if len(last) == 1:  # only what is behind the last slash can match
        return f"{out}(?>(?:.*/)?){last[0]}"
    return f"{out}(?:[^/]*/)*?{'/'.join(last)}"


def _runs(pattern: str) -> list[list[str]]:
    """Expressions for the parts of a path, divided where any number of folders may be between.

    The first is empty if the pattern begins with such a place, and the last if it ends with one.
    """
    runs: list[list[str]] = [[]]
    for part in _parts(pattern):
        if part != _FOLDERS:
            runs[-1].append(_part(part))
        elif runs[-1] or len(runs) == 1:  # two such places in a row are one
            runs.append([])
    return runs


def _parts(pattern: str) -> Iterator[list[str]]:
    """The units of each part of a path."""
    part: list[str] = []
    for _, unit in _units(pattern):
        if unit in ("/", "\\/"):
            yield part
            part = []
        else:
            part.append(unit)
    yield part


def _part(units: list[str]) -> str:
    """The expression for one part of a path: what the stars in it separate, one after another."""
    pieces = [""]
    for unit in units:
        if unit != "*":
            pieces[-1] += _unit(unit)
        elif pieces[-1] or len(pieces) == 1:  # two stars in a row are one
            pieces.append("")
    first, *others = pieces
    if not others:
        return first
    inner = "".join(f"(?>[^/]*?{piece})" for piece in others[:-1])
    return f"{first}{inner}(?>[^/]*{others[-1]})"


def _unit(unit: str) -> str:
    if unit == "?":
        return "[^/]"
    if unit[0] == "[" and len(unit) > 1:
        return _class(unit[1:-1])
    return re.escape(unit[1:] if unit[0] == "\\" and len(unit) > 1 else unit)


def _class(members: str) -> str:
    negated = members[:1] in ("!", "^")
    inside = members[1:] if negated else members
    inside = inside.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    inside = inside.replace("^", "\\^").replace("&&", "\\&&").replace("~~", "\\~~")
    return f"(?!/)[{'^' if negated else ''}{inside}]"


# Which files git and search tools would pass over, as their rule files say.


GIT_FILE = ".gitignore"
OTHER_FILES = (".ignore", ".rgignore")
"""Rules of search tools; they hold outside of a repository too and beat git's."""

MAX_RULE_FILE_BYTES = 1024 * 1024
"""Bytes of a rule file."""
MAX_RULES = 10_000
"""Rules of one file that count; every name is compared with all of them."""


class IgnoreRule(NamedTuple):
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


Rules: TypeAlias = tuple[IgnoreRule, ...]
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
    return tuple(islice((rule for rule in rules if rule is not None), MAX_RULES))


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
            text = read_regular(folder / name, most=MAX_RULE_FILE_BYTES).decode(
                "utf-8-sig", "replace"
            )
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            log.warning("The rules in %s are not used: %s", folder / name, error.strerror)
            continue
        found = parse_rules(text, base=base, lead=lead)
        if len(found) == MAX_RULES:
            log.warning("Only the first %d rules of %s are used", MAX_RULES, folder / name)
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


def _rule(line: str, base: str, lead: str) -> IgnoreRule | None:
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
    return IgnoreRule(base, lead, compile_glob(anchored, braces=False), keeps, only_folders)


def _without_blanks(line: str) -> str:
    """The line up to the blanks at its end, of which a backslash keeps one."""
    short = line.rstrip()
    return line[: len(short) + 1] if short.endswith("\\") else short


# Files and folders that a pattern names. Looks at a limited number of names, whatever it says.


_WILD = frozenset("*?[\\")


def matching_paths(folder: Path, pattern: str) -> list[Path]:
    """What is there below ``folder`` that a relative pattern names, in the order of names.

    ``**`` means folders, at any depth, and does not follow links. Unlike ``Path.glob``, which for
    ``**/**/**/x`` looks at everything again and again, each folder is met once for each part of
    the pattern. ``ValueError`` for a pattern that is absolute or too large.
    """
    if pattern.startswith("/") or Path(pattern).is_absolute():
        raise ValueError(f"the pattern {pattern} is absolute")
    found: set[Path] = set()
    names = _Names()
    try:
        for alternative in expand_braces(pattern):
            found |= names.matching(folder, alternative)
    except _TooManyNames:
        log.warning("%s in %s means too much; not all is used", pattern, folder)
    return sorted(found)


class _TooManyNames(Exception):
    """So many names were looked at that the rest is left out."""


class _Names:
    """Looks at names, up to a limit for all alternatives of a pattern."""

    def __init__(self) -> None:
        self._left = MAX_TREE_ENTRIES

    def matching(self, folder: Path, pattern: str) -> set[Path]:
        """What a pattern without braces names."""
        places = {folder}
        for part in filter(None, pattern.split("/")):
            places = set(self._step(places, part))
        return places - {folder}

    def _step(self, places: Iterable[Path], part: str) -> Iterator[Path]:
        """What one part of the pattern leads to from each of ``places``."""
        if part == "**":
            for place in places:
                yield place
                yield from (path for path in self._counted(walk_below(place)) if is_folder(path))
        elif not _WILD & set(part):
            paths = self._counted(place / part for place in places)
            yield from (path for path in paths if os.path.lexists(path))
        else:
            glob = compile_glob(part, braces=False)
            for place in places:
                paths = self._counted(entries_of(place))
                yield from (path for path in paths if glob.fullmatch(path.name))

    def _counted(self, paths: Iterable[Path]) -> Iterator[Path]:
        for path in paths:
            self._left -= 1
            if self._left < 0:
                raise _TooManyNames
            yield path

"""Glob patterns and ignore files, with the semantics of ripgrep, fd and git.

Patterns come from projects, packages and models, so no pattern may take long. A pattern becomes a
regular expression without backtracking: every ``*`` matches up to the first position where the
text after it fits, in an atomic group. That is sufficient, because a later position leaves less
room for the rest. Alternatives would break this, so braces are expanded first, and a pattern with
too many alternatives matches nothing.
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
from pi.coding.other_agents import repository_of
from pi.coding.resources.tolerant_files import MAX_TREE_ENTRIES, entries_of, is_folder, walk_below

log = logging.getLogger(__name__)


MAX_PATTERN_LENGTH = 4096
"""No path of an operating system is longer."""
MAX_ALTERNATIVES = 256
"""Maximum patterns that the braces of one pattern may expand to."""
MAX_EXPANDED_LENGTH = 32_768
"""Maximum characters of all expanded patterns, including intermediate ones."""

_FOLDERS = ["*", "*"]
_NEVER = re.compile("(?!)")


class PatternTooLarge(ValueError):
    """A pattern that would take too long to match."""


@lru_cache(maxsize=1024)
def compile_glob(
    pattern: str, *, ignore_case: bool = False, braces: bool = True
) -> re.Pattern[str]:
    """Return a regular expression for ``fullmatch`` with whole paths that use ``/``.

    ``*`` and ``?`` match within one part of a path, ``**`` across parts; ``[a-z]``, ``[!a]``,
    ``{a,b}`` (unless ``braces`` is off, as for git) and ``\\`` before a character work as usual.
    Unclosed brackets and braces are literal, and so are other invalid patterns. A pattern that is
    too large matches nothing; ``expand_braces`` raises for it.
    """
    flags = re.DOTALL | (re.IGNORECASE if ignore_case else 0)
    try:
        alternatives = expand_braces(pattern) if braces else [_check_size(pattern)]
    except PatternTooLarge:
        return _NEVER
    try:
        return re.compile("|".join(map(_pattern_expression, alternatives)), flags)
    except re.error:  # such as the range [z-a]
        return re.compile(re.escape(pattern), flags)


def expand_braces(pattern: str) -> list[str]:
    """Expand ``pattern`` to patterns without braces. Raises ``PatternTooLarge``."""
    waiting, expanded, looked_at = [_check_size(pattern)], list[str](), 0
    while waiting:
        text = waiting.pop()
        looked_at += len(text)
        if (span := _first_braces(text)) is None:
            expanded.append(text)
        else:
            start, end = span
            waiting += (
                text[:start] + choice + text[end + 1 :]
                for choice in reversed(_split_choices(text[start + 1 : end]))
            )
        if len(waiting) + len(expanded) > MAX_ALTERNATIVES or looked_at > MAX_EXPANDED_LENGTH:
            raise PatternTooLarge(f"its braces expand to more than {MAX_ALTERNATIVES} patterns")
    return expanded


def _check_size(pattern: str) -> str:
    if len(pattern) > MAX_PATTERN_LENGTH:
        raise PatternTooLarge(f"it is longer than {MAX_PATTERN_LENGTH} characters")
    return pattern


def _split_units(pattern: str) -> Iterator[tuple[int, str]]:
    """Yield escaped characters, character classes and single characters with their positions."""
    start = 0
    while start < len(pattern):
        end = start + 1
        if pattern[start] == "\\" and end < len(pattern):
            end += 1
        elif pattern[start] == "[":
            end = _class_end(pattern, start) or end
        yield start, pattern[start:end]
        start = end


def _class_end(pattern: str, start: int) -> int | None:
    """Return the end of the class that begins at ``start``; a leading ``]`` is a member of it."""
    first = start + 1 + (pattern[start + 1 : start + 2] in ("!", "^"))
    end = pattern.find("]", first + 1)
    return end + 1 if end > 0 else None


def _first_braces(text: str) -> tuple[int, int] | None:
    """Return the positions of the first balanced pair of braces."""
    opened: list[int] = []
    closed: list[tuple[int, int]] = []
    for position, unit in _split_units(text):
        if unit == "{":
            opened.append(position)
        elif unit == "}" and opened:
            closed.append((opened.pop(), position))
    return min(closed, default=None)


def _split_choices(inside: str) -> list[str]:
    """Split at commas, except inside inner braces."""
    parts, depth = [""], 0
    for _, unit in _split_units(inside):
        depth += (unit == "{") - (unit == "}")
        if unit == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += unit
    return parts


def _pattern_expression(pattern: str) -> str:
    """Return the expression for a pattern without braces."""
    first, *others = _runs(pattern)
    if not others:
        return "/".join(first)
    out = "".join(f"{part}/" for part in first)
    for run in others[:-1]:
        out += f"(?>(?:[^/]*/)*?{'/'.join(run)}/)"
    last = others[-1]
    if not last:
        return f"{out}.*"
    if len(last) == 1:  # only the part after the last slash can match
        return f"{out}(?>(?:.*/)?){last[0]}"
    return f"{out}(?:[^/]*/)*?{'/'.join(last)}"


def _runs(pattern: str) -> list[list[str]]:
    """Return expressions for the parts of a path, split at ``**``.

    The first list is empty if the pattern begins with ``**``, the last if it ends with it.
    """
    runs: list[list[str]] = [[]]
    for part in _parts(pattern):
        if part != _FOLDERS:
            runs[-1].append(_part(part))
        elif runs[-1] or len(runs) == 1:  # ``**/**`` is the same as ``**``
            runs.append([])
    return runs


def _parts(pattern: str) -> Iterator[list[str]]:
    """Yield the units of each part of a path."""
    part: list[str] = []
    for _, unit in _split_units(pattern):
        if unit in ("/", "\\/"):
            yield part
            part = []
        else:
            part.append(unit)
    yield part


def _part(units: list[str]) -> str:
    """Return the expression for one part of a path: the pieces between its stars in order."""
    pieces = [""]
    for unit in units:
        if unit != "*":
            pieces[-1] += _unit(unit)
        elif pieces[-1] or len(pieces) == 1:  # two stars in a row equal one
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


GIT_FILE = ".gitignore"
OTHER_FILES = (".ignore", ".rgignore")
"""Rules of search tools; they also apply outside of a repository and override git's."""

MAX_RULE_FILE_BYTES = 1024 * 1024
"""Larger rule files are not used."""
MAX_RULES = 10_000
"""Maximum rules of one file: every name is compared with all of them."""


class IgnoreRule(NamedTuple):
    """A line of a rule file."""

    base: str
    """Folder of the file relative to the root of the search: empty, or ending in ``/``."""
    lead: str
    """Path from the file's folder down to the root, if the folder is above the root."""
    matches: re.Pattern[str]
    """Matches paths relative to the file's folder."""
    keeps: bool
    """Whether the rule begins with ``!`` and re-includes files."""
    only_folders: bool


Rules: TypeAlias = tuple[IgnoreRule, ...]
"""Later rules override earlier ones."""


class IgnoreTree:
    """The rules below ``root``, read lazily folder by folder.

    With ``require_git``, git's rules apply only inside a repository. The rules of an outer
    repository do not apply inside a nested one.
    """

    def __init__(self, root: Path, *, home: Path, require_git: bool) -> None:
        self._root = root
        repository = repository_of(root)
        self._git = repository is not None or not require_git
        above = _rules_above(root, repository, home) if repository else ()
        self._known: dict[str, tuple[Rules, Rules]] = {"": self._inside("", above, ())}

    def ignores(self, path: str, *, is_folder: bool) -> bool:
        """Whether ``path`` is ignored, provided that its folder is not."""
        git, other = self._rules(path.rpartition("/")[0])
        return is_ignored(path, git + other, is_folder=is_folder)

    def _rules(self, folder: str) -> tuple[Rules, Rules]:
        if folder not in self._known:
            above = self._rules(folder.rpartition("/")[0])
            self._known[folder] = self._inside(folder, *above)
        return self._known[folder]

    def _inside(self, folder: str, git: Rules, other: Rules) -> tuple[Rules, Rules]:
        path, base = self._root / folder, f"{folder}/" if folder else ""
        inner_repository = bool(folder) and (path / ".git").exists()
        if inner_repository:
            git = rules_in(path / ".git" / "info", ["exclude"], base=base)
        if self._git or inner_repository:
            git += rules_in(path, [GIT_FILE], base=base)
        return git, other + rules_in(path, OTHER_FILES, base=base)


def parse_ignore_rules(text: str, *, base: str = "", lead: str = "") -> Rules:
    """Parse the rules of a file; empty lines and comments are skipped."""
    rules = (_parse_rule(line, base, lead) for line in text.splitlines())
    return tuple(islice((rule for rule in rules if rule is not None), MAX_RULES))


def is_ignored(path: str, rules: Rules, *, is_folder: bool) -> bool:
    """Whether the last rule that matches ``path`` ignores it."""
    for rule in reversed(rules):
        if rule.only_folders and not is_folder:
            continue
        if path.startswith(rule.base) and rule.matches.fullmatch(
            rule.lead + path[len(rule.base) :]
        ):
            return not rule.keeps
    return False


def rules_in(folder: Path, names: Iterable[str], *, base: str = "", lead: str = "") -> Rules:
    """Read the rules of files of a folder; unreadable files are skipped."""
    rules: Rules = ()
    for name in names:
        try:
            text = read_regular(folder / name, max_bytes=MAX_RULE_FILE_BYTES).decode(
                "utf-8-sig", "replace"
            )
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            log.warning("ignore rules in %s are not used: %s", folder / name, error.strerror)
            continue
        file_rules = parse_ignore_rules(text, base=base, lead=lead)
        if len(file_rules) == MAX_RULES:
            log.warning("only the first %d rules of %s are used", MAX_RULES, folder / name)
        rules += file_rules
    return rules


def _rules_above(root: Path, repository: Path, home: Path) -> Rules:
    """Return the rules of the user and of the folders from the repository down to the root."""
    below = root.relative_to(repository).parts
    lead = "".join(f"{part}/" for part in below)
    rules = rules_in(home / ".config" / "git", ["ignore"], lead=lead)
    rules += rules_in(repository / ".git" / "info", ["exclude"], lead=lead)
    for depth in range(len(below)):
        lead = "".join(f"{part}/" for part in below[depth:])
        rules += rules_in(repository.joinpath(*below[:depth]), [GIT_FILE], lead=lead)
    return rules


def _parse_rule(line: str, base: str, lead: str) -> IgnoreRule | None:
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
    """Return the line without trailing blanks; a backslash keeps one."""
    short = line.rstrip()
    return line[: len(short) + 1] if short.endswith("\\") else short


_WILD = frozenset("*?[\\")


def matching_paths(folder: Path, pattern: str) -> list[Path]:
    """Return the sorted paths below ``folder`` that match a relative pattern.

    ``**`` matches folders at any depth and does not follow links. Unlike ``Path.glob``, which
    visits folders repeatedly for ``**/**/**/x``, each folder is visited once for each part of the
    pattern. Raises ``ValueError`` for a pattern that is absolute or too large.
    """
    if pattern.startswith("/") or Path(pattern).is_absolute():
        raise ValueError(f"the pattern {pattern} is absolute")
    paths: set[Path] = set()
    names = _Names()
    try:
        for alternative in expand_braces(pattern):
            paths |= names.matching(folder, alternative)
    except _TooManyNames:
        log.warning("%s in %s matches too many files; not all are used", pattern, folder)
    return sorted(paths)


class _TooManyNames(Exception):
    """The limit of visited names was reached."""


class _Names:
    """Visits names, up to a limit for all alternatives of a pattern."""

    def __init__(self) -> None:
        self._remaining = MAX_TREE_ENTRIES

    def matching(self, folder: Path, pattern: str) -> set[Path]:
        """Return the matches of a pattern without braces."""
        folders = {folder}
        for part in filter(None, pattern.split("/")):
            folders = set(self._step(folders, part))
        return folders - {folder}

    def _step(self, folders: Iterable[Path], part: str) -> Iterator[Path]:
        """Yield the matches of one part of the pattern in each of ``folders``."""
        if part == "**":
            for base in folders:
                yield base
                yield from (path for path in self._limit_paths(walk_below(base)) if is_folder(path))
        elif not _WILD & set(part):
            paths = self._limit_paths(base / part for base in folders)
            yield from (path for path in paths if os.path.lexists(path))
        else:
            glob = compile_glob(part, braces=False)
            for base in folders:
                paths = self._limit_paths(entries_of(base))
                yield from (path for path in paths if glob.fullmatch(path.name))

    def _limit_paths(self, paths: Iterable[Path]) -> Iterator[Path]:
        for path in paths:
            self._remaining -= 1
            if self._remaining < 0:
                raise _TooManyNames
            yield path

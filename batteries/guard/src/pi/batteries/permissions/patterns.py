"""Compares rules about files with paths: patterns, hard links, files below a folder."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from unicodedata import normalize

from pi.batteries.permissions.paths import (
    WORKING_COPIES,
    BaseFolders,
    TouchedPath,
    in_copy,
    is_below,
)
from pi.batteries.permissions.rules import Rule
from pi.extension.guards import compile_glob


def roots_of(rule: Rule, base_folders: BaseFolders) -> tuple[tuple[str, ...], str]:
    """The folders that a pattern is relative to, also with links followed, and the rest of it."""
    root, pattern = root_of(rule, base_folders)
    roots = [root, os.path.realpath(root)]
    # Rules that allow something in the project do not allow it in other working directories.
    if root == base_folders.cwd and base_folders.session_cwd and rule.effect != "allow":
        roots += (base_folders.session_cwd, os.path.realpath(base_folders.session_cwd))
    return tuple(dict.fromkeys(roots)), pattern


def root_of(rule: Rule, base_folders: BaseFolders) -> tuple[str, str]:
    """The folder that a pattern is relative to, and the rest of it.

    ``//x`` is absolute, ``~/x`` below the home folder, all others below the project. A name without
    a slash matches in every folder below.
    """
    specifier = rule.specifier
    if specifier.startswith("//"):
        return "/", specifier[2:]
    if specifier.startswith("~/") or specifier == "~":
        return base_folders.home, specifier[2:]
    if specifier.startswith("/"):
        return base_folders.cwd, specifier[1:]
    plain = specifier.removeprefix("./")
    if "/" not in plain.rstrip("/") and specifier == plain:
        return base_folders.cwd, f"**/{plain}"
    return base_folders.cwd, plain


MAX_PATTERN_LENGTH = 1000
MAX_WIDE_STARS = 2
"""Maximum of ``**`` next to other characters: each one doubles the alternatives."""


@lru_cache(maxsize=1024)
def _compiled(pattern: str, *, ignores_case: bool) -> re.Pattern[str]:
    """Translate a pattern into the globs of ``compile_glob``, which match in linear time.

    The model chooses the paths: with plain regular expressions, it could make a rule with many
    stars backtrack for years. A pattern that is too large restricts everything and allows nothing.
    """
    # A folder covers everything inside of it, with or without ``/**``.
    pattern = pattern.removesuffix("/**").rstrip("/")
    out, position = [], 0
    while position < len(pattern):
        starts_part = position == 0 or pattern[position - 1] == "/"
        if pattern.startswith("**/", position):
            out.append("**/" if starts_part else "{,?*/**/}")
            while pattern.startswith("**/", position):  # several are the same as one
                position += 3
        elif pattern.startswith("**", position):
            out.append("{*,*/**/*}")  # also across folders
            position = len(pattern) - len(pattern[position:].lstrip("*"))
        else:
            letter = pattern[position]
            out.append(f"\\{letter}" if letter in "[]{},\\" else letter)
            position += 1
    glob = "".join(out) + "{,/**}"
    wide = sum(piece[0] == "{" for piece in out)
    if wide > MAX_WIDE_STARS or len(glob) > MAX_PATTERN_LENGTH:
        return re.compile(r".*" if ignores_case else r"(?!)", re.DOTALL)
    return compile_glob(glob, ignore_case=ignores_case)


class FileMatcher:
    """Compares files with one rule.

    A rule that restricts needs to match one name of the file, ignoring case and the Unicode form. A
    rule that allows must match all forms exactly, so that a link cannot lead out of the folder.
    """

    def __init__(self, rule: Rule, base_folders: BaseFolders) -> None:
        self.rule = rule
        self._base_folders = base_folders
        self._restricts = rule.effect != "allow"
        self._roots, self._pattern = roots_of(rule, base_folders)
        self._folders, pattern = self._roots, self._pattern
        if self._restricts:
            self._folders = tuple(normalize("NFC", root) for root in self._roots)
            pattern = normalize("NFC", pattern)
        self._compiled = _compiled(pattern, ignores_case=self._restricts)

    def matches(self, path: TouchedPath) -> bool:
        """Whether the rule matches a file."""
        if not self.rule.specifier:
            return True
        if not self._restricts:
            return all(map(self.matches_name, path.forms))
        if any(map(self.matches_name, (*path.forms, *path.member_forms))):
            return True
        return any(map(self.matches_name, self._other_names(path.real)))

    def matches_name(self, path: str) -> bool:
        """Whether the pattern matches one absolute path."""
        path = normalize("NFC", path) if self._restricts else path
        for folder in self._folders:
            below = _below(path, folder, ignores_case=self._restricts)
            if below is not None and self._compiled.fullmatch(below):
                return True
        if not self._restricts or self._roots[0] != self._base_folders.cwd:
            return False
        inner = in_copy(path, self._base_folders)
        return inner is not None and self._compiled.fullmatch(inner) is not None

    def fixed_paths(self) -> list[str]:
        """The paths in front of the first wildcard, also in the copies of isolated agents."""
        pattern = self._pattern
        fixed = pattern if not re.search(r"[*?]", pattern) else re.split(r"[^/]*[*?]", pattern)[0]
        roots = [*self._roots]
        if roots[0] == self._base_folders.cwd and self._base_folders.agent_dir:
            copies = Path(self._base_folders.agent_dir, WORKING_COPIES).glob("*/files")
            roots += map(str, copies)
        return [os.path.normpath(os.path.join(root, fixed)) for root in roots]  # noqa: PTH118

    @property
    def is_anywhere(self) -> bool:
        """Whether the files may be in any folder below."""
        return self._pattern.startswith("**/")

    def _other_names(self, real: str) -> Iterator[str]:
        """Yield the names that the rule may mean of a file with several names, which is rare."""
        try:
            status = Path(real).stat()
        except (OSError, ValueError):
            return
        if status.st_nlink < 2 or not stat.S_ISREG(status.st_mode):
            return
        for root in self._roots:
            if re.search(r"[*?]", self._pattern):
                yield from _names_of(status.st_ino, root)
            elif Path(root, self._pattern).exists() and Path(root, self._pattern).samefile(real):
                yield os.path.normpath(os.path.join(root, self._pattern))  # noqa: PTH118


def rule_matches(rule: Rule, path: TouchedPath, base_folders: BaseFolders) -> bool:
    """Whether a rule matches a file."""
    return FileMatcher(rule, base_folders).matches(path)


MAX_LINKED = 20_000
"""Maximum of files that are compared with a file that has several names (hard links)."""


def _names_of(inode: int, root: str) -> Iterator[str]:
    folders, count = [root], 0
    while folders and count < MAX_LINKED:
        with suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in entries:
                count += 1
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                elif entry.inode() == inode:
                    yield entry.path


def _below(path: str, root: str, *, ignores_case: bool) -> str | None:
    parts, folders = path.split("/"), root.rstrip("/").split("/")
    above = parts[: len(folders)]
    if ignores_case:
        above, folders = [name.casefold() for name in above], [name.casefold() for name in folders]
    return "/".join(parts[len(folders) :]) if above == folders else None


MAX_ENTRIES = 20_000
"""Maximum of files below a folder that are compared with patterns such as ``**/x``."""


def covers_restricted(
    path: TouchedPath, rules: Sequence[Rule], base_folders: BaseFolders
) -> Rule | None:
    """The first rule about a file that exists inside a folder, for calls that read the folder."""
    for form in path.forms:
        for rule, _ in rules_below(form, rules, base_folders):
            return rule
    return None


def rules_below(
    folder: str, rules: Sequence[Rule], base_folders: BaseFolders
) -> Iterator[tuple[Rule, str]]:
    """Yield the files inside a folder that rules are about.

    The file is empty if the folder has too many files to look for it: the user decides then.
    """
    if not Path(folder).is_dir():
        return
    anywhere: list[FileMatcher] = []
    for matcher in (FileMatcher(rule, base_folders) for rule in rules if rule.specifier):
        targets = matcher.fixed_paths()
        if not matcher.is_anywhere:
            for target in targets:
                if target != folder and is_below(target, folder) and Path(target).exists():
                    yield matcher.rule, target
        elif any(is_below(target, folder) or is_below(folder, target) for target in targets):
            anywhere.append(matcher)
    count = 0
    for parent, folders, files in os.walk(folder) if anywhere else ():
        count += len(folders) + len(files)
        if count > MAX_ENTRIES:
            yield anywhere[0].rule, ""
            return
        for name in (*folders, *files):
            path = f"{parent}/{name}"
            yield from ((matcher.rule, path) for matcher in anywhere if matcher.matches_name(path))

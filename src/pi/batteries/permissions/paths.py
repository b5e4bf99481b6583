"""Matches rules with files: patterns, protected files, links.

Also finds the files that a command line names.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path, PurePath

from pi.batteries.permissions.rules import Rule
from pi.extension import (
    CommandLine,
    CommandWord,
    Record,
    change_reason,
    compile_glob,
    replace,
)

PROTECTED_FOLDERS = (".pi", ".claude", ".git/hooks", ".git/config", ".git/modules", ".mcp.json")
START_UP_FILES = frozenset(
    {
        *(".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile"),
        *(".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc"),
        *(".login", ".envrc", "config.fish", ".gitconfig", ".gitmodules", "authorized_keys"),
    }
)
"""Files of shells, git and ssh that cause commands to run later."""


class TouchedPath(Record):
    """A file that a call names."""

    written: str
    """The path as the model wrote it."""
    lexical: str
    """The absolute path without ``..``; links are not followed."""
    real: str
    """The absolute path with all links followed."""

    @property
    def forms(self) -> tuple[str, ...]:
        """The paths that rules are compared with."""
        return tuple(dict.fromkeys((self.lexical, self.real)))


class BaseFolders(Record):
    """Folders that patterns are relative to."""

    cwd: str
    home: str
    agent_dir: str = ""
    keeps_folder: bool = False
    """Whether commands start in the folder of the previous one, which is then unknown."""
    is_confined: bool = False
    """Whether the sandbox keeps commands from writing outside, and from the network."""
    program_folders: tuple[str, ...] = ()
    """The folders of PATH."""


def touched(written: str, base: str, places: BaseFolders) -> TouchedPath:
    """The file that a text names, relative to a folder."""
    plain = written.removeprefix("file://")
    if plain == "~" or plain.startswith("~/"):
        plain = places.home + plain[1:]
    lexical = os.path.normpath(os.path.join(base, plain))  # noqa: PTH118
    return TouchedPath(written=written, lexical=lexical, real=os.path.realpath(lexical))


def is_below(path: str, folder: str) -> bool:
    """Whether a path is ``folder`` or inside of it."""
    return PurePath(path).is_relative_to(folder)


def is_protected(path: TouchedPath, places: BaseFolders) -> bool:
    """Whether a change of a file affects what runs later; ignores the case of its name."""
    for form in path.forms:
        parts = [part.casefold() for part in PurePath(form).parts]
        whole = f"/{'/'.join(parts[1:])}/"
        if any(f"/{name}/" in whole for name in PROTECTED_FOLDERS):
            return True
        if parts and parts[-1] in START_UP_FILES:
            return True
        if places.agent_dir and is_below(form, places.agent_dir):
            return True
    return False


# Patterns -----------------------------------------------------------------------------------------


def root_of(rule: Rule, places: BaseFolders) -> tuple[str, str]:
    """The folder that a pattern is relative to, and the rest of it.

    ``//x`` is absolute, ``~/x`` below the home folder, all others below the project. A name without
    a slash matches in every folder below.
    """
    specifier = rule.specifier
    if specifier.startswith("//"):
        return "/", specifier[2:]
    if specifier.startswith("~/") or specifier == "~":
        return places.home, specifier[2:]
    if specifier.startswith("/"):
        return places.cwd, specifier[1:]
    plain = specifier.removeprefix("./")
    if "/" not in plain.rstrip("/") and specifier == plain:
        return places.cwd, f"**/{plain}"
    return places.cwd, plain


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
    out, place = [], 0
    while place < len(pattern):
        starts_part = place == 0 or pattern[place - 1] == "/"
        if pattern.startswith("**/", place):
            out.append("**/" if starts_part else "{,?*/**/}")
            while pattern.startswith("**/", place):  # several are the same as one
                place += 3
        elif pattern.startswith("**", place):
            out.append("{*,*/**/*}")  # also across folders
            place = len(pattern) - len(pattern[place:].lstrip("*"))
        else:
            letter = pattern[place]
            out.append(f"\\{letter}" if letter in "[]{},\\" else letter)
            place += 1
    glob = "".join(out) + "{,/**}"
    wide = sum(piece[0] == "{" for piece in out)
    if wide > MAX_WIDE_STARS or len(glob) > MAX_PATTERN_LENGTH:
        return re.compile(r".*" if ignores_case else r"(?!)", re.DOTALL)
    return compile_glob(glob, ignore_case=ignores_case)


def rule_matches(rule: Rule, path: TouchedPath, places: BaseFolders) -> bool:
    """Whether a rule matches a file.

    A rule that restricts needs to match one form of the path, ignoring case. A rule that allows
    must match all forms exactly, so that a link cannot lead out of the folder.
    """
    if not rule.specifier:
        return True
    restricts = rule.effect != "allow"
    root, pattern = root_of(rule, places)
    roots = dict.fromkeys((root, os.path.realpath(root)))
    compiled = _compiled(pattern, ignores_case=restricts)

    def matches(form: str) -> bool:
        for each in roots:
            below = _below(form, each, ignores_case=restricts)
            if below is not None and compiled.fullmatch(below):
                return True
        return False

    return (any if restricts else all)(map(matches, path.forms))


def _below(path: str, root: str, *, ignores_case: bool) -> str | None:
    one, other = (path.casefold(), root.casefold()) if ignores_case else (path, root)
    prefix = other.rstrip("/") + "/"
    if one == other.rstrip("/"):
        return ""
    return path[len(prefix) :] if one.startswith(prefix) else None


MAX_ENTRIES = 5000
"""Maximum of files below a folder that are compared with a pattern such as ``**/x``."""


def covers_restricted(path: TouchedPath, rules: Sequence[Rule], places: BaseFolders) -> Rule | None:
    """The first rule about a file that exists inside a folder, for calls that read the folder."""
    for rule in rules:
        if rule.specifier and any(_contains(form, rule, places) for form in path.forms):
            return rule
    return None


def _contains(folder: str, rule: Rule, places: BaseFolders) -> bool:
    root, pattern = root_of(rule, places)
    # The part before the first wildcard is a fixed path.
    fixed = pattern if not re.search(r"[*?]", pattern) else re.split(r"[^/]*[*?]", pattern)[0]
    place = os.path.normpath(os.path.join(root, fixed))  # noqa: PTH118
    if not pattern.startswith("**/"):
        return place != folder and is_below(place, folder) and Path(place).exists()
    if not (is_below(place, folder) or is_below(folder, place)) or not Path(folder).is_dir():
        return False
    count = 0
    for here, folders, files in os.walk(folder):
        count += len(folders) + len(files)
        if count > MAX_ENTRIES:  # too many to check: the user decides
            return True
        names = (os.path.join(here, name) for name in (*folders, *files))  # noqa: PTH118
        if any(
            rule_matches(rule, TouchedPath(written=n, lexical=n, real=n), places) for n in names
        ):
            return True
    return False


# Files of commands --------------------------------------------------------------------------------


class NamedFile(Record):
    """A word of a command that may be a file."""

    text: str
    """The path, or its known beginning."""
    is_known: bool = True
    may_write: bool = True
    opened: bool = False
    """Whether the shell itself opens the file, in a redirection."""


def named_files(line: CommandLine) -> Iterator[NamedFile]:
    """Every word that may name a file, and the files of redirections."""
    for part in line.parts:
        reads = not change_reason(part)
        for word in part.arguments:
            yield from _files_of(word, may_write=not reads)
        for each in part.redirections:
            if each.document is not None or each.operator.startswith("<<"):
                continue
            if each.writes or each.operator == "<":
                found = _files_of(each.target, may_write=each.writes)
                yield from (replace(file, opened=True) for file in found)


def _files_of(word: CommandWord, *, may_write: bool) -> Iterator[NamedFile]:
    text = word.text if word.text is not None else word.prefix
    known = word.text is not None and not set(word.expands) - {"tilde"}
    yield NamedFile(text=text, is_known=known, may_write=may_write)
    # ``--file=x``, ``if=x``, ``@x``, ``-fx``, ``host:x``
    for mark in ("=", "@", ":"):
        if mark in text:
            yield NamedFile(text=text.partition(mark)[2], is_known=known, may_write=may_write)
    if letters := re.match(r"-[A-Za-z]+", text):
        # The value of an option may begin behind any letter: ``-uo.bashrc``.
        for start in range(2, min(letters.end() + 1, len(text))):
            yield NamedFile(text=text[start:], is_known=known, may_write=may_write)


def folders_of(line: CommandLine, start: str) -> list[str] | None:
    """The folders in which parts may run because of ``cd``; ``None`` if they are unknown."""
    found = [start]
    for part in line.parts:
        if part.name in ("cd", "pushd", "popd"):
            targets = [word for word in part.arguments if not (word.literal or "").startswith("-")]
            if len(targets) != 1 or part.name == "popd":
                return None
            text = targets[0].text
            if text is None or set(targets[0].expands) - {"tilde"}:
                return None
            found.append(text)
    return found

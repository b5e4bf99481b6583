"""Matches rules with files: patterns, protected files, links.

Also finds the files that a command line names.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path, PurePath
from unicodedata import normalize
from urllib.parse import unquote

from pi.batteries.permissions.rules import Rule
from pi.extension import (
    CommandLine,
    CommandWord,
    FileEffect,
    Record,
    change_reason,
    compile_glob,
    replace,
    starts_by_scripts,
    starts_something,
)


class TouchedPath(Record):
    """A file that a call names."""

    written: str
    """The path as the model wrote it."""
    lexical: str
    """The absolute path without ``..``; links are not followed."""
    real: str
    """The absolute path with all links followed."""
    member: str = ""
    """The part of an archive or a database that is used."""
    writes: bool = False
    below: bool = False
    """Whether everything below the folder is read."""

    @property
    def forms(self) -> tuple[str, ...]:
        """The paths that all rules are compared with."""
        return tuple(dict.fromkeys((self.lexical, self.real)))

    @property
    def member_forms(self) -> tuple[str, ...]:
        """The paths as if an archive were a folder; rules that restrict are compared with them."""
        return tuple(f"{form}/{self.member}" for form in self.forms) if self.member else ()


class BaseFolders(Record):
    """Folders that patterns are relative to."""

    cwd: str
    home: str
    session_cwd: str = ""
    """The working directory of a nested session, if it has one of its own, such as a copy of the
    project: patterns are relative to it as well."""
    agent_dir: str = ""
    keeps_folder: bool = False
    """Whether commands start in the folder of the previous one, which is then unknown."""
    is_confined: bool = False
    """Whether the sandbox keeps commands from writing outside, and from the network."""
    program_folders: tuple[str, ...] = ()
    """The folders of PATH."""


def touched(written: str, base: str, places: BaseFolders) -> TouchedPath:
    """The file that a text names, relative to a folder."""
    plain = written
    if plain[:7].casefold() == "file://":
        plain = unquote(plain[7:])
        plain = plain if plain.startswith("/") else f"/{plain.partition('/')[2]}"  # with a host
    if plain == "~" or plain.startswith("~/"):
        plain = places.home + plain[1:]
    elif plain.startswith("~"):
        plain = os.path.expanduser(plain)  # noqa: PTH111
    lexical = os.path.normpath(os.path.join(base, plain))  # noqa: PTH118
    return TouchedPath(written=written, lexical=lexical, real=os.path.realpath(lexical))


def touched_by(effect: FileEffect) -> TouchedPath:
    """The file of an effect that a tool has declared."""
    return TouchedPath(
        written=effect.path,
        lexical=effect.path,
        real=effect.real,
        member=effect.member,
        writes=effect.writes,
        below=effect.below,
    )


def is_below(path: str, folder: str) -> bool:
    """Whether a path is ``folder`` or inside of it."""
    return PurePath(path).is_relative_to(folder)


def is_protected(path: TouchedPath, places: BaseFolders, *, with_scripts: bool = False) -> bool:
    """Whether a change of a file affects what runs later.

    ``with_scripts`` includes files with scripts of package managers, such as ``package.json``.
    """
    for form in path.forms:
        inner = in_copy(form, places)
        name = form if inner is None else f"/{inner}"
        if starts_something(name) or (with_scripts and starts_by_scripts(name)):
            return True
        if inner is None and places.agent_dir and is_below(form, places.agent_dir):
            return True
    return False


WORKING_COPIES = "working-copies"
"""The folder of the agent directory with the copies of isolated agents: ``NAME/files/…``."""


def in_copy(path: str, places: BaseFolders) -> str | None:
    """The path inside the copy of a project that an isolated agent has; ``None`` for others.

    Rules about files of the project restrict those of its copies as well.
    """
    copies = f"{places.agent_dir}/{WORKING_COPIES}/"
    if not places.agent_dir or not path.startswith(copies):
        return None
    _, _, inner = path.removeprefix(copies).partition("/files")
    return inner.removeprefix("/") if inner[:1] in ("", "/") else None


def is_inside(path: TouchedPath, places: BaseFolders) -> bool:
    """Whether a file is in the working directory, also with all links followed."""
    for cwd in dict.fromkeys(filter(None, (places.cwd, places.session_cwd))):
        if is_below(path.lexical, cwd) and is_below(path.real, os.path.realpath(cwd)):
            return True
    return False


# Patterns -----------------------------------------------------------------------------------------


def roots_of(rule: Rule, places: BaseFolders) -> tuple[tuple[str, ...], str]:
    """The folders that a pattern is relative to, also with links followed, and the rest of it."""
    root, pattern = root_of(rule, places)
    roots = [root, os.path.realpath(root)]
    # Rules that allow something in the project do not allow it in other working directories.
    if root == places.cwd and places.session_cwd and rule.effect != "allow":
        roots += (places.session_cwd, os.path.realpath(places.session_cwd))
    return tuple(dict.fromkeys(roots)), pattern


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

    A rule that restricts needs to match one name of the file, ignoring case and the Unicode form. A
    rule that allows must match all forms exactly, so that a link cannot lead out of the folder.
    """
    if not rule.specifier:
        return True
    matches = _matcher(rule, places)
    if rule.effect == "allow":
        return all(map(matches, path.forms))
    if any(map(matches, (*path.forms, *path.member_forms))):
        return True
    return any(map(matches, _other_names(path.real, *roots_of(rule, places))))


def _matcher(rule: Rule, places: BaseFolders) -> Callable[[str], bool]:
    """The function that compares one absolute path with the pattern of a rule."""
    restricts = rule.effect != "allow"
    roots, pattern = roots_of(rule, places)
    compiled = _compiled(
        normalize("NFC", pattern) if restricts else pattern, ignores_case=restricts
    )
    folders = tuple(normalize("NFC", root) for root in roots) if restricts else roots
    is_of_project = restricts and roots[0] == places.cwd

    def matches(path: str) -> bool:
        path = normalize("NFC", path) if restricts else path
        for folder in folders:
            below = _below(path, folder, ignores_case=restricts)
            if below is not None and compiled.fullmatch(below):
                return True
        inner = in_copy(path, places) if is_of_project else None
        return inner is not None and compiled.fullmatch(inner) is not None

    return matches


MAX_LINKED = 20_000
"""Maximum of files that are compared with a file that has several names (hard links)."""


def _other_names(real: str, roots: Sequence[str], pattern: str) -> Iterator[str]:
    """Yield the names that a rule may mean of a file with several names, which is rare."""
    try:
        status = Path(real).stat()
    except (OSError, ValueError):
        return
    if status.st_nlink < 2 or not stat.S_ISREG(status.st_mode):
        return
    for root in roots:
        if re.search(r"[*?]", pattern):
            yield from _names_of(status.st_ino, root)
        elif Path(root, pattern).exists() and Path(root, pattern).samefile(real):
            yield os.path.normpath(os.path.join(root, pattern))  # noqa: PTH118


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
        above, folders = [each.casefold() for each in above], [each.casefold() for each in folders]
    return "/".join(parts[len(folders) :]) if above == folders else None


MAX_ENTRIES = 50_000
"""Maximum of files below a folder that are compared with a pattern such as ``**/x``."""


def covers_restricted(path: TouchedPath, rules: Sequence[Rule], places: BaseFolders) -> Rule | None:
    """The first rule about a file that exists inside a folder, for calls that read the folder."""
    for form in path.forms:
        for rule, _ in rules_below(form, rules, places):
            return rule
    return None


def rules_below(
    folder: str, rules: Sequence[Rule], places: BaseFolders
) -> Iterator[tuple[Rule, str]]:
    """Yield the files inside a folder that rules are about.

    The file is empty if the folder has too many files to look for it: the user decides then.
    """
    for rule in rules:
        if rule.specifier:
            yield from ((rule, path) for path in _matching_below(folder, rule, places))


def _matching_below(folder: str, rule: Rule, places: BaseFolders) -> Iterator[str]:
    roots, pattern = roots_of(rule, places)
    # The part before the first wildcard is a fixed path.
    fixed = pattern if not re.search(r"[*?]", pattern) else re.split(r"[^/]*[*?]", pattern)[0]
    if roots[0] == places.cwd and places.agent_dir:
        copies = Path(places.agent_dir, WORKING_COPIES).glob("*/files")
        roots = (*roots, *map(str, copies))
    targets = [os.path.normpath(os.path.join(root, fixed)) for root in roots]  # noqa: PTH118
    if not pattern.startswith("**/"):
        for target in targets:
            if target != folder and is_below(target, folder) and Path(target).exists():
                yield target
        return
    related = any(is_below(target, folder) or is_below(folder, target) for target in targets)
    if not related or not Path(folder).is_dir():
        return
    matches = _matcher(rule, places)
    count = 0
    for parent, folders, files in os.walk(folder):
        count += len(folders) + len(files)
        if count > MAX_ENTRIES:
            yield ""
            return
        paths = (os.path.join(parent, name) for name in (*folders, *files))  # noqa: PTH118
        yield from filter(matches, paths)


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
        before = ""
        for word in part.arguments:
            yield from _files_of(word, may_write=not (reads or _is_pattern(before, word)))
            before = word.literal or ""
        for each in part.redirections:
            if each.document is not None or each.operator.startswith("<<"):
                continue
            if each.writes or each.operator == "<":
                found = _files_of(each.target, may_write=each.writes)
                yield from (replace(file, opened=True) for file in found)


_PATTERN_OPTIONS = frozenset(
    {
        *("-path", "-ipath", "-wholename", "-name", "-iname", "-g", "--glob"),
        *("--exclude", "--exclude-dir", "--ignore"),
    }
)
_NAMED_PATTERNS = ("--exclude", "--ignore", "--git-dir=", "--glob=")


def _is_pattern(before: str, word: CommandWord) -> bool:
    """Whether a word only chooses files: ``find -path './.git/*'``, ``--exclude=.git``."""
    return before in _PATTERN_OPTIONS or (word.literal or "").startswith(_NAMED_PATTERNS)


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

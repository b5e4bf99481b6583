"""Matches rules with files: patterns, protected files, links.

Also finds the files that a command line names.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import PurePath
from urllib.parse import unquote

from pi.extension import FileEffect, Record, replace
from pi.extension.guards import (
    CommandLine,
    CommandPart,
    CommandWord,
    change_reason,
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
    shell_folder: str = ""
    """The folder in which the shell of the previous command is, if that is known."""
    is_confined: bool = False
    """Whether the sandbox keeps commands from writing outside, and from the network."""
    program_folders: tuple[str, ...] = ()
    """The folders of PATH."""


def touched(written: str, base: str, base_folders: BaseFolders) -> TouchedPath:
    """The file that a text names, relative to a folder."""
    plain = written
    if plain[:7].casefold() == "file://":
        plain = unquote(plain[7:])
        plain = plain if plain.startswith("/") else f"/{plain.partition('/')[2]}"  # with a host
    if plain == "~" or plain.startswith("~/"):
        plain = base_folders.home + plain[1:]
    elif plain.startswith("~"):
        plain = os.path.expanduser(plain)  # noqa: PTH111
    path = os.path.join(base, plain)  # noqa: PTH118
    # Behind a link, ``..`` is the folder above its target, so it is removed from one form only.
    lexical = os.path.normpath(path)
    try:
        real = os.path.realpath(path)
    except OSError:  # a link of another user's process
        real = lexical
    return TouchedPath(written=written, lexical=lexical, real=real)


_FACTS = (
    r"(?:cgroup|cmdline|comm|environ|io|limits|loginuid|maps|meminfo|mounts|mountinfo|oom_\w+|sched"
    r"|smaps\w*|stat|statm|status|wchan)\Z"
)
_OF_PROCESS = re.compile(
    rf"/+(?:proc/+(?:self|thread-self|\d+)/(?!{_FACTS})|proc/.*\.\.|dev/+fd/)", re.DOTALL
)


def leads_through_process(written: str, base: str) -> bool:
    """Whether a path has a link of ``/proc``, such as ``/proc/self/cwd``.

    It leads to another file for the command than for pi.
    """
    return _OF_PROCESS.match(os.path.join(base, written)) is not None  # noqa: PTH118


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
    """Whether an absolute path is ``folder`` or inside of it."""
    return f"{path}/".startswith(f"{folder.rstrip('/')}/")


def is_protected(
    path: TouchedPath, base_folders: BaseFolders, *, with_scripts: bool = False
) -> bool:
    """Whether a change of a file affects what runs later.

    ``with_scripts`` includes files with scripts of package managers, such as ``package.json``.
    """
    for form in path.forms:
        if _is_plan(form, base_folders):
            continue
        inner = in_copy(form, base_folders)
        tour = f"{base_folders.agent_dir}/{TOUR}"
        if base_folders.agent_dir and form != tour and is_below(form, tour):
            inner = form.removeprefix(f"{tour}/")
        name = form if inner is None else f"/{inner}"
        if starts_something(name) or (with_scripts and starts_by_scripts(name)):
            return True
        if inner is None and base_folders.agent_dir and is_below(form, base_folders.agent_dir):
            return True
    return False


TOUR = "tour"
"""The folder of the agent directory with the files of the guided tour; pi loads nothing there."""
WORKING_COPIES = "working-copies"
"""The folder of the agent directory with the copies of isolated agents: ``NAME/files/…``."""


PLANS = "plans"
"""The folder of plans in the agent directory and in ``.pi`` of a project; pi loads none of them."""


def is_plan(path: TouchedPath, base_folders: BaseFolders) -> bool:
    """Whether a file is a plan of plan mode, also with all links followed."""
    return all(_is_plan(form, base_folders) for form in path.forms)


def _is_plan(path: str, base_folders: BaseFolders) -> bool:
    file = PurePath(path)
    if file.suffix != ".md" or file.parent.name != PLANS:
        return False
    agent_dirs = (
        (base_folders.agent_dir, os.path.realpath(base_folders.agent_dir))
        if base_folders.agent_dir
        else ()
    )
    projects = (f"{cwd}/.pi" for cwd in (base_folders.cwd, os.path.realpath(base_folders.cwd)))
    return str(file.parent.parent) in (*agent_dirs, *projects)


def in_copy(path: str, base_folders: BaseFolders) -> str | None:
    """The path inside the copy of a project that an isolated agent has; ``None`` for others.

    Rules about files of the project restrict those of its copies as well.
    """
    copies = f"{base_folders.agent_dir}/{WORKING_COPIES}/"
    if not base_folders.agent_dir or not path.startswith(copies):
        return None
    _, _, inner = path.removeprefix(copies).partition("/files")
    return inner.removeprefix("/") if inner[:1] in ("", "/") else None


def is_inside(path: TouchedPath, base_folders: BaseFolders) -> bool:
    """Whether a file is in the working directory, also with all links followed."""
    for cwd in dict.fromkeys(filter(None, (base_folders.cwd, base_folders.session_cwd))):
        if is_below(path.lexical, cwd) and is_below(path.real, os.path.realpath(cwd)):
            return True
    return False


# Files of commands --------------------------------------------------------------------------------


class NamedFile(Record):
    """A word of a command that may be a file."""

    text: str
    """The path, or its known beginning."""
    is_known: bool = True
    is_anywhere: bool = False
    """Whether the unknown part may lead to another folder."""
    may_write: bool = True
    opened: bool = False
    """Whether the shell itself opens the file, in a redirection."""


def named_files(line: CommandLine) -> Iterator[NamedFile]:
    """Every word that may name a file, and the files of redirections."""
    for part in line.parts:
        reads = not change_reason(part)
        yield from placed_files(part)
        before = ""
        for word in part.arguments:
            yield from _files_of(word, may_write=not (reads or _is_pattern(before, word)))
            before = word.literal or ""
        for redirection in part.redirections:
            if redirection.document is not None or redirection.operator.startswith("<<"):
                continue
            if redirection.writes or redirection.operator == "<":
                targets = _files_of(redirection.target, may_write=redirection.writes)
                yield from (replace(file, opened=True) for file in targets)


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
    is_known = word.text is not None and not set(word.expands) - {"tilde"}
    anywhere = bool(set(word.expands) - {"tilde", "glob", "brace"})
    file = NamedFile(text=text, is_known=is_known, is_anywhere=anywhere, may_write=may_write)
    yield file
    # ``--file=x``, ``if=x``, ``@x``, ``-fx``, ``host:x``
    for mark in ("=", "@", ":"):
        if mark in text:
            yield replace(file, text=text.partition(mark)[2])
    if letters := re.match(r"-[A-Za-z]+", text):
        # The value of an option may begin behind any letter: ``-uo.bashrc``.
        for start in range(2, min(letters.end() + 1, len(text))):
            yield replace(file, text=text[start:])


_PLACING = frozenset({"cp", "mv", "ln", "install", "rsync", "scp", "link"})
"""Programs that put a file into a folder under the name that it has."""


def placed_files(part: CommandPart) -> Iterator[NamedFile]:
    """Yield the files that ``cp a b folder`` writes, if the last word is that of a folder."""
    arguments = list(part.arguments)
    name = (part.name or "").rpartition("/")[2].casefold()
    if name == "git" and arguments and arguments[0].literal == "mv":
        arguments = arguments[1:]
    elif name not in _PLACING:
        return
    texts = [word.text for word in arguments]
    operands = [text for text in texts if text is not None and not text.startswith("-")]
    options = (text for text in texts if text is not None and text.startswith("-"))
    values = (re.fullmatch(r"-\w*t(.+)|--t[a-z-]*=(.*)", option, re.DOTALL) for option in options)
    folders = [match[1] or match[2] or "" for match in values if match]
    folders += [operands[0], operands[-1]] if operands else []  # the first one behind ``-t``
    for folder in dict.fromkeys(folders):
        for operand in operands:
            if operand != folder:
                yield NamedFile(text=f"{folder.rstrip('/')}/{PurePath(operand).name}")


_FOLDER_OPTIONS = {
    "env": re.compile(r"-(?!-)[a-z0]*C|--ch"),
    "sudo": re.compile(r"-(?!-)[A-Za-z]*[DRi]|--(?:ch|lo)"),
    "doas": re.compile(r"-(?!-)[A-Za-z]*C"),
}
"""Options with which a program runs a command in another folder."""


def _runs_elsewhere(part: CommandPart) -> bool:
    """Whether a command runs in a folder that its program chooses."""
    if {"find -execdir", "find -okdir"} & {*part.inside}:
        return True
    name = (part.name or "").rpartition("/")[2].casefold()
    if name not in _FOLDER_OPTIONS:
        return False
    texts = (word.literal if word.literal is not None else "-C" for word in part.arguments)
    return any(map(_FOLDER_OPTIONS[name].match, texts))


def folders_of(line: CommandLine, start: str) -> list[str] | None:
    """The folders in which parts may run because of ``cd``; ``None`` if they are unknown."""
    folders = [start]
    assigned = {assignment.name for part in line.parts for assignment in part.assignments}
    sets_search_path = not assigned.isdisjoint({"CDPATH", "HOME"})
    for part in line.parts:
        if _runs_elsewhere(part):
            return None
        if part.name in ("cd", "pushd", "popd"):
            targets = [word for word in part.arguments if not (word.literal or "").startswith("-")]
            if part.name == "cd" and not part.arguments and not sets_search_path:
                folders.append("~")
                continue
            if len(targets) != 1 or part.name == "popd" or sets_search_path:
                return None
            text = targets[0].text
            if text is None or set(targets[0].expands) - {"tilde"}:
                return None
            folders.append(text)
    return folders

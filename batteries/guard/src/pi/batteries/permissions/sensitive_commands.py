"""Finds the files with credentials that a command line reads."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import lru_cache
from glob import has_magic, iglob
from itertools import islice
from pathlib import Path

from pi.batteries.permissions.archives import shown_members
from pi.batteries.permissions.commands import INTERPRETERS, base_name, parsed
from pi.batteries.permissions.expansions import KnownValues, transforms
from pi.batteries.permissions.git_contents import (
    searches_untracked,
    shown_folders,
    shown_histories,
    without_global_options,
)
from pi.batteries.permissions.git_index import IndexVersion, index_entries, index_of
from pi.batteries.permissions.paths import BaseFolders, folders_of, is_below, touched
from pi.batteries.permissions.searches import (
    SHOWS_NO_CONTENT,
    follows_links,
    is_recursive,
    links_in,
    names_files_at_run_time,
    shows_hidden,
)
from pi.batteries.permissions.sensitive import (
    has_sensitive_name,
    is_sensitive,
    sensitive_folder,
)
from pi.extension import Record
from pi.extension.guards import CommandLine, CommandPart, CommandWord

_GIT_WITHOUT_CONTENT = frozenset(
    {"add", "status", "check-ignore", "rm", "commit", "ls-files", "push", "fetch", "tag", "init"}
)
_GIT_ADDING = frozenset({"add", "stage", "stash"})
_RECURSIVE = {
    **dict.fromkeys(("ag", "ack"), r"-[a-z]*u[a-z]*|--hidden|--unrestricted|-a"),
    **dict.fromkeys(("cp", "scp"), r"-[A-Za-z]*[raR][A-Za-z]*|--recursive|--archive"),
    **dict.fromkeys(("tar", "zip", "rsync", "7z", "pax", "cpio"), r".*"),
    "diff": r"-[A-Za-z]*r[A-Za-z]*|--recursive",
    "find": r"-exec(?:dir)?|-ok(?:dir)?",
    "fd": r"-x|-X|--exec.*",
}
"""Programs that read whole folders, with the option for it."""
_UNPACKING = re.compile(r"-?(?!-)[^cruA]*[xt][^cruA]*|--extract|--get|--list")
"""The first argument with which ``tar`` reads an archive, not files."""
_MAKES_FILES = frozenset({"git", "tar", "bsdtar", "unzip", "7z", "hg", "svn"})
"""Programs that make files with names that only they know."""
_GIVES_NAMES = frozenset({"mv", "ln", "link"})
"""Programs after which the files in a folder have other names."""
_GIT_MESSAGE_FILE = re.compile(r"-(?!-)[A-Za-z]*[Ft]|--(?:fi|te)")
"""Options of git with which a file becomes a message."""
_CWD_OF_PROCESS = re.compile(r"/proc/(?:self|thread-self|\d+)/cwd(?=/|\Z)")
_SEPARATORS = re.compile(r"[^\w.~/*?\[\]@%+^-]+")
_WITHOUT_QUOTES = str.maketrans("", "", "\"'\\")
UNKNOWN_FOLDER = "files in a folder that is not known in advance"
MAX_WALKED = 3000
MAX_MATCHES = 500
_SKIPPED = frozenset({".git", "node_modules", ".venv", "__pycache__"})


class CommandReads(Record):
    """What a command line may read of credentials."""

    paths: tuple[str, ...] = ()
    """Real paths of files."""
    histories: tuple[tuple[str, tuple[str, ...] | None], ...] = ()
    """Folders of repositories of which older files may be shown, and the paths that are shown;
    ``None`` stands for all."""


def sensitive_files_of(command: str, cwd: str, base_folders: BaseFolders) -> tuple[str, ...]:
    """The real paths of files with credentials that a command line may read."""
    return credential_reads(command, cwd, base_folders).paths


def credential_reads(
    command: str,
    cwd: str,
    base_folders: BaseFolders,
    *,
    is_elsewhere: bool = False,
    environ: Mapping[str, str] | None = None,
) -> CommandReads:
    """What a command line may read of credentials.

    ``is_elsewhere``: the shell is in a folder that is not known. ``environ``: variables that the
    call sets for it.
    """
    line = parsed(command)
    folders = folders_of(line, cwd)
    bases = [cwd]
    for folder in (folders or [])[1:]:
        bases.append(touched(folder, bases[-1], base_folders).lexical)
    if base_folders.keeps_folder and base_folders.cwd not in bases:
        bases.append(base_folders.cwd)  # where a new shell starts
    search = _Search(bases, base_folders, is_elsewhere=is_elsewhere or folders is None)
    programs = {base_name(part.name or "") for part in line.parts}
    search.has_several = len(line.parts) > 1
    search.makes_files = search.has_several and not _MAKES_FILES.isdisjoint(programs)
    search.values = KnownValues(
        {**(environ or {}), "HOME": base_folders.home, "PWD": bases[-1], "OLDPWD": bases[0]}
    )
    search.values.learn(line)
    assigned = {name.name for part in line.parts for name in part.assignments}
    expands = any("variable" in word.expands for part in line.parts for word in part.words)
    if line.unresolved or assigned or expands or _has_loop(command):
        # A file may be named in one place and read in another: everything counts.
        search.in_text(command)
    for part in line.parts:
        search.in_part(part)
    search.in_added()
    if _reads_names(line) or (base_folders.keeps_folder and expands and not assigned):
        search.below(())
    return CommandReads(paths=tuple(search.paths), histories=tuple(search.histories.items()))


def mentioned_files(texts: Sequence[str], cwd: str, base_folders: BaseFolders) -> tuple[str, ...]:
    """The existing files with credentials that source code or other arguments mention."""
    search = _Search([cwd], base_folders)
    for text in texts:
        search.in_text(text)
    return tuple(search.paths)


def _has_loop(command: str) -> bool:
    return re.search(r"\b(?:for|while|until|select|case|read|mapfile)\b", command) is not None


class _Search:
    """Collects the files with credentials that words name."""

    def __init__(
        self, bases: Sequence[str], base_folders: BaseFolders, *, is_elsewhere: bool = False
    ) -> None:
        self._bases = bases
        self._base_folders = base_folders
        self._is_elsewhere = is_elsewhere
        """Whether the command may run in another folder, which is not known."""
        self.makes_files = False
        """Whether the line may make the files that it names."""
        self.has_several = False
        """Whether the line has several commands."""
        self.values = KnownValues({})
        self._shows_commits = False
        self._added: list[Sequence[CommandWord]] = []
        """The arguments of commands that put files into the repository."""
        self.paths: dict[str, None] = {}
        self.histories: dict[str, tuple[str, ...] | None] = {}

    def in_part(self, part: CommandPart) -> None:
        """Add what one command reads."""
        for redirection in part.redirections:
            if not redirection.writes and redirection.document is None:
                self._in_word(redirection.target)
            program = base_name(part.name or "")
            if redirection.document and program in INTERPRETERS:
                self.in_text(redirection.document)
        program = base_name(part.name or "")
        arguments = part.arguments
        if program == "git" and not self._in_git(part):
            return
        self._in_moved_folders(program, arguments)
        self._in_archives(part)
        reads_folders = self._is_recursive(program, arguments) or names_files_at_run_time(part)
        follows = follows_links(program, [word.literal or word.raw for word in arguments])
        if reads_folders or follows:
            self.below(arguments, follows=follows, only_links=not reads_folders)
        if program not in SHOWS_NO_CONTENT or reads_folders:
            for word in (*arguments, *(assignment.value for assignment in part.assignments)):
                self._in_word(word)

    def _in_git(self, part: CommandPart) -> bool:
        """Add what git shows without a file; returns whether it shows the files of its words."""
        arguments = part.arguments
        texts = [word.literal or word.raw for word in arguments]
        self._in_index(texts)
        self._in_history(texts, part)
        if searches_untracked(texts):
            self.below(arguments)
        subcommand = next(iter(without_global_options(texts)), "")
        if subcommand in _GIT_ADDING:
            self._added.append(arguments)
        if subcommand in _GIT_WITHOUT_CONTENT:
            if any(map(_GIT_MESSAGE_FILE.match, texts)):
                for word in arguments:
                    self._in_word(word)
            return False
        for word in arguments:
            self._in_object(word)
        return True

    def _in_index(self, texts: Sequence[str]) -> None:
        """Add the files of the index that git shows."""
        for root, named in shown_folders(texts, self._bases):
            self._shows_commits = True
            with suppress(OSError, ValueError):
                for path in _tracked_credentials(root, index_of(root / ".git")):
                    if named is None or any(is_below(path, folder) for folder in named):
                        self.paths.setdefault(path)  # also one that was deleted: it is shown

    def _in_history(self, texts: Sequence[str], part: CommandPart) -> None:
        """Add the repositories of which git shows older files."""
        git_dirs = [
            touched(assignment.value.literal or "", base, self._base_folders).lexical
            for assignment in part.assignments
            if assignment.name in ("GIT_DIR", "GIT_WORK_TREE")
            for base in self._bases
        ]
        for folder, history_paths in shown_histories(texts, (*self._bases, *git_dirs)):
            if self._is_elsewhere and folder in self._bases:
                self.paths.setdefault(UNKNOWN_FOLDER)
            self._shows_commits = True
            if history_paths != []:
                self.histories[folder] = None if history_paths is None else tuple(history_paths)

    def in_text(self, text: str) -> None:
        """Add the files that are named anywhere in a text."""
        for token in dict.fromkeys(_SEPARATORS.split(self._with_folders(text))):
            if token and token not in (".", "..", "/"):
                self._add(token)
                if token.startswith("@"):  # ``curl -F file=@.env``
                    self._add(token[1:])

    def _in_word(self, word: CommandWord) -> None:
        text = word.text if word.text is not None else word.prefix or word.raw
        if word.text is None:
            for reading in self.values.readings(self._with_folders(word.raw)):
                self._in_pattern(reading.translate(_WITHOUT_QUOTES), word)
            if transforms(word.raw):
                self.below(())
        self._add(text)
        self.in_text(text)
        if re.match(r"-[A-Za-z].", text):
            self._add(text[2:])

    def _in_pattern(self, pattern: str, word: CommandWord) -> None:
        """Add the files that a word may name, with ``*`` for parts that are not known."""
        if pattern.strip("*/.") or re.search(r"(?:\A|/)\.\*", pattern):
            self._add(pattern)
            self._add(re.sub(r"\A\*+/", "", pattern))  # the unknown part may be this folder
            if pattern.startswith("*") and "/" in pattern and is_sensitive(pattern):
                self.paths.setdefault(word.raw)  # ``"$x"/.ssh/id_rsa`` may be anywhere
        elif pattern.count("*") > 1:
            self.below(())  # ``$a$b``

    def _in_archives(self, part: CommandPart) -> None:
        for path in shown_members(part, self._bases, self._base_folders):
            if is_sensitive(path.member):
                self.paths.setdefault(f"{path.lexical}:{path.member}")

    def _in_moved_folders(self, program: str, arguments: Sequence[CommandWord]) -> None:
        """Add the files in folders that the line moves or links: they get other names."""
        if program not in _GIVES_NAMES or not self.has_several:
            return
        for word in arguments:
            text = word.text or ""
            if text and any(
                Path(touched(text, base, self._base_folders).real).is_dir() for base in self._bases
            ):
                self.below((word,))

    def in_added(self) -> None:
        """Add what the line puts into the repository, if it also shows commits or the index."""
        if not self._shows_commits:
            return
        for arguments in self._added:
            known_paths = self.paths
            self.paths = {}
            for word in arguments:
                self._in_word(word)
            self.below(arguments)
            texts = [word.text or "" for word in arguments]
            if not any(re.match(r"-(?!-)\w*[fa]|--(?:fo|al)", text) for text in texts):
                self.paths = {path: None for path in self.paths if not _is_ignored(path)}
            self.paths = known_paths | self.paths

    def _with_folders(self, text: str) -> str:
        """The text with the values of ``$HOME``, ``$PWD`` and ``~+``."""
        text = re.sub(r"\$(?:HOME\b|\{HOME\})", lambda _: self._base_folders.home, text)
        return re.sub(r"\$(?:PWD\b|\{PWD\})|^~\+", lambda _: self._bases[-1], text)

    def _in_object(self, word: CommandWord) -> None:
        """Add a file of a commit: ``HEAD:.env`` need not exist in the folder."""
        path = (word.text or word.raw.translate(_WITHOUT_QUOTES)).partition(":")[2]
        if path and is_sensitive(path):
            self.paths.setdefault(word.text or path)

    def _add(self, token: str) -> None:
        if len(token) > 4096 or "\0" in token:
            return
        for base in self._bases:
            token_here = _CWD_OF_PROCESS.sub(base.replace("\\", r"\\"), token, count=1)
            path = touched(token_here, base, self._base_folders)
            if has_magic(path.lexical):
                names = iglob(path.lexical, include_hidden=True)  # noqa: PTH207 (absolute)
                for name in islice(names, MAX_MATCHES):
                    self._add_existing(name, str(Path(name).resolve()))
            else:
                self._add_existing(path.lexical, path.real)

    def _add_existing(self, lexical: str, real: str) -> None:
        try:
            if not Path(real).is_file():
                # The shell may be in another folder, in which there is such a file.
                is_possible = (
                    self._base_folders.keeps_folder or self.makes_files or self._is_elsewhere
                )
                if is_possible and is_sensitive(lexical):
                    self.paths.setdefault(lexical)
                return
            if is_sensitive(lexical, real) or has_sensitive_name(real):
                self.paths.setdefault(real)
        except (OSError, ValueError):
            return

    def _is_recursive(self, program: str, arguments: Sequence[CommandWord]) -> bool:
        texts = [word.literal or word.raw for word in arguments]
        if program in ("grep", "egrep", "fgrep"):
            return is_recursive(texts)
        if program == "rg":
            return shows_hidden(texts, Path(".env"))
        option = _RECURSIVE.get(program)
        if option is None or (program == "tar" and _UNPACKING.fullmatch(texts[0] if texts else "")):
            return False
        return any(re.fullmatch(option, word.text or "") for word in arguments)

    def below(
        self, arguments: Sequence[CommandWord], *, follows: bool = False, only_links: bool = False
    ) -> None:
        """Add the files with credentials below the folders that arguments name, or below here.

        ``follows``: also those that links lead to. ``only_links``: only those.
        """
        named = [word.text for word in arguments if word.text and not word.text.startswith("-")]
        folders = [
            touched(name, base, self._base_folders).real for name in named for base in self._bases
        ]
        existing = [folder for folder in folders if Path(folder).is_dir()]
        if self._is_elsewhere and not any(map(_is_absolute, named)):
            self.paths.setdefault(UNKNOWN_FOLDER)
        for folder in existing or self._bases:
            for path in islice(_files_below(folder, follows=follows), MAX_WALKED):
                is_link = os.path.islink(path)  # noqa: PTH114
                if is_link and Path(path).is_dir():
                    self._in_linked_folder(os.path.realpath(path))
                elif is_link or not only_links:
                    self._add_existing(path, os.path.realpath(path))

    def _in_linked_folder(self, folder: str) -> None:
        for path in islice(_files_below(folder, follows=False), MAX_WALKED):
            self._add_existing(path, path)


@lru_cache(maxsize=4)
def _tracked_credentials(root: Path, index: IndexVersion) -> tuple[str, ...]:
    """The files of an index that look like credentials. Raises ``ValueError``."""
    return tuple(
        f"{root}/{entry.path}" for entry in index_entries(index) if is_sensitive(entry.path)
    )


def _is_ignored(path: str) -> bool:
    """Whether a line of an ignore file above names a file, so that ``git add`` leaves it out."""
    names = path.rsplit("/", 1)[-1], path
    for folder in Path(path).parents:
        try:
            lines = (folder / ".gitignore").read_text("utf-8", "replace").splitlines()
        except OSError:
            lines = []
        patterns = [line.strip().rstrip("/").removeprefix("**/").lstrip("/") for line in lines]
        if any(fnmatchcase(name, pattern) for pattern in patterns for name in names):
            return True
        if (folder / ".git").exists():
            return False
    return False


def _reads_names(line: CommandLine) -> bool:
    """Whether the line shows files whose names come from the output or input of a command."""
    reads = any(part.name in ("read", "mapfile", "readarray") for part in line.parts)
    if not (reads or line.has_substitutions):
        return False
    for part in line.parts:
        if base_name(part.name or "") in SHOWS_NO_CONTENT or not part.words:
            continue
        if any({"variable", "command"} & {*word.expands} for word in part.arguments):
            return True
    return False


def _is_absolute(name: str) -> bool:
    return name.startswith(("/", "~"))


def _files_below(folder: str, *, follows: bool) -> Iterator[str]:
    """Yield the files below a folder that are credentials, and with ``follows`` all links."""
    for parent, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in _SKIPPED]
        for name in files:
            path = os.path.join(parent, name)  # noqa: PTH118
            if is_sensitive(path) or sensitive_folder(parent):
                yield path
        if follows:
            yield from links_in(parent, (*folders, *files))

"""Scans a project: compares the stamp of every covered path with that of the last scan.

The scan goes level by level, so that a limit cuts off deep folders first. A folder that was left
out once stays out: a path that is covered in one scan and not in the next would look removed.

Every scan calls ``stat`` for every file: the time of a folder does not change when a file in it is
written. But a folder with an unchanged listing is not matched with the ignore rules again.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Iterator, Mapping
from itertools import chain as joined
from pathlib import Path
from stat import S_ISDIR, S_ISLNK, S_ISREG

from pi.batteries.rewind.pauses import COMPARED, pause
from pi.batteries.rewind.states import NO_STAMP, Stamp, is_leftover, is_racy, stamp_of
from pi.coding.resources.ignore import IgnoreRule, is_ignored, parse_ignore_rules

FILES = (".gitignore", ".ignore")
"""The names of ignore files; the last one wins."""
REPOSITORIES = frozenset({".git", ".hg", ".svn", ".jj"})
"""Version control keeps its own history, which must not be mixed with another."""
DEPENDENCIES = frozenset(
    {
        *("node_modules", "__pycache__", ".venv", ".tox", ".nox", ".direnv"),
        *(".mypy_cache", ".pytest_cache", ".ruff_cache"),
    }
)
"""Folders that programs can generate again; not covered even if no ignore file names them."""
NEVER = REPOSITORIES | DEPENDENCIES
MAX_IGNORE_BYTES = 1024 * 1024
SLACK = 1.25
"""Factor by which a project may exceed the limit after its first scan."""

_HAS_FOLDER_FD = os.stat in os.supports_dir_fd and os.scandir in os.supports_fd
_FOLDER_FLAGS = (
    os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)  # not on Windows
)

Rules = tuple[IgnoreRule, ...]
"""The rules of a folder and those above it; later ones win."""


def refused_root(root: Path, home: Path) -> str:
    """Why a folder is never scanned; empty if it may be."""
    real, home = Path(os.path.realpath(root)), Path(os.path.realpath(home))
    if real == real.parent:
        return "the working folder is the root of the file system"
    if real == home:
        return "the working folder is the home folder"
    if home.is_relative_to(real):
        return "the working folder contains the home folder"
    return ""


class Scan:
    """The differences from the previous scan."""

    def __init__(self, *, is_complete: bool) -> None:
        self.is_complete = is_complete
        """Whether there was no scan before: every covered path is in ``changed``."""
        self.count = 0
        """Number of covered paths so far."""
        self.rule_files: set[str] = set()
        """The ignore files that apply."""
        self.changed: dict[str, Stamp] = {}
        """New and changed paths, relative to the project."""
        self.removed: list[str] = []
        """Paths that are gone or no longer covered. A path that is in ``changed``, too, changed
        from a file to a folder, or the other way round."""
        self.special = 0
        """Number of pipes, sockets and devices."""
        self.ignored = 0
        """Number of ignored files and folders; the content of ignored folders does not count."""
        self.unreadable: list[str] = []
        """Folders that cannot be listed; the known states of their files are kept."""
        self.rules_changed = False


Listing = list[tuple[str, bool]]
"""The names in a folder, and whether each is a folder."""


class _Folder:
    """The result of the last scan of a folder."""

    __slots__ = ("chain", "files", "folders", "ignored", "listing", "rule_files", "stamps")

    def __init__(self, listing: Listing, rule_files: list[str], chain: Rules) -> None:
        self.listing: Listing | None = listing
        """``None``: an entry changed during the scan, so that all have to be matched again."""
        self.rule_files = rule_files
        self.chain = chain
        self.files: list[str] = []
        """The names of covered files, and of pipes and devices: these may become files."""
        self.stamps: list[Stamp | None] = []
        """The stamps of ``files``; ``None``: not reported."""
        self.folders: dict[str, int] = {}
        """The mode of each covered folder; ``UNREPORTED`` at first, and if it is left out."""
        self.ignored = 0


UNREPORTED = -1


class _RuleFile:
    """An ignore file, as it was last read."""

    __slots__ = ("rules", "stamp", "text")

    def __init__(self, stamp: Stamp, text: str, base: str) -> None:
        self.stamp = stamp
        self.text = text
        self.rules = parse_ignore_rules(text, base=base)


class Scanner:
    """Scans one project repeatedly. Blocks.

    To continue after another scanner, pass its ``rule_texts`` and set its ``left_out``. The first
    scan of each scanner is complete.
    """

    def __init__(
        self,
        root: Path,
        *,
        max_files: int,
        rule_texts: Mapping[str, str] | None = None,
        has_pauses: bool = True,
    ) -> None:
        self._root = root
        self._has_pauses = has_pauses
        """Whether to pause for other threads."""
        self._max_files = max_files
        self._has_scanned = rule_texts is not None
        """Whether this or an earlier scanner has scanned the project: ``SLACK`` applies."""
        self.left_out: set[str] = set()
        """Folders beyond the limit, with a slash at the end."""
        self._rules = {
            path: _RuleFile(NO_STAMP, text, _folder_of_rules(path))
            for path, text in (rule_texts or {}).items()
        }
        """Ignore files by path."""
        self._folders: dict[str, _Folder] = {}
        """Folders of the last scan, by path with a slash at the end."""
        self._chains = _chains_of(self._rules)
        """The rules of each folder."""
        self._old_chains: dict[str, Rules] = {}

    def scan(self) -> Scan:
        """Scan all covered paths."""
        scan = Scan(is_complete=not self._folders)
        before, self._folders = self._folders, {}
        self._old_chains, self._chains = self._chains, {}
        waiting: deque[tuple[str, Rules]] = deque([("", ())])
        while waiting:
            prefix, outer = waiting.popleft()
            try:
                inner = self._look(prefix, outer, before.get(prefix), scan)
            except OSError:
                # Its files are kept as they were: reported as removed now, they would look new
                # when the folder can be listed again.
                scan.unreadable.append(prefix or "./")
                for path in [path for path in before if path.startswith(prefix)]:
                    self._keep(path, before[path], scan)
                continue
            waiting.extend((path, self._chains[prefix]) for path in inner)
        for prefix in before.keys() - self._folders.keys():
            scan.removed += _reported_paths(before[prefix], prefix)
        if self._rules.keys() - scan.rule_files:
            scan.rules_changed = True
            self._rules = {path: self._rules[path] for path in scan.rule_files}
        self._has_scanned = True
        return scan

    def begin_again(self) -> None:
        """Make the next scan a complete one."""
        self._folders = {}

    @property
    def rule_texts(self) -> dict[str, str]:
        """The contents of the ignore files of the last scan, by path."""
        return {path: rule_file.text for path, rule_file in self._rules.items()}

    def _look(self, prefix: str, outer: Rules, old: _Folder | None, scan: Scan) -> list[str]:
        """Scan a folder; returns its subfolders. Raises ``OSError`` if it cannot be listed."""
        fd = self._open(prefix)
        try:
            with os.scandir(f"{self._root}/{prefix}" if fd is None else fd) as listed:
                listing = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in listed]
            is_same = old is not None and old.listing == listing
            rule_files = old.rule_files if old and is_same else _rule_files(prefix, listing)
            chain = self._chain(prefix, rule_files, outer, scan)
            if old is not None and old.chain == chain:
                chain = old.chain
            limit = int(self._max_files * SLACK) if self._has_scanned else self._max_files
            if scan.count + len(listing) > limit or (not prefix and "./" in self.left_out):
                # A folder is covered with all of its files or not at all. Of the project's root
                # only the files are left out: its subfolders may still fit.
                self.left_out.add(prefix or "./")
                listing = [] if prefix else [row for row in listing if row[1]]
                listing = listing if len(listing) <= limit else []
                is_same = False
            if old is not None and is_same and old.chain is chain:
                folder = old
            else:
                folder = _match(prefix, _Folder(listing, rule_files, chain), old, scan)
            self._keep(prefix, folder, scan)
            self._stamp_files(folder, prefix, fd, scan)
            return list(self._inner(folder, prefix, fd, scan))
        finally:
            if fd is not None:
                os.close(fd)

    def _keep(self, prefix: str, folder: _Folder, scan: Scan) -> None:
        """Remember a folder for the next scan."""
        self._folders[prefix] = folder
        self._chains[prefix] = folder.chain
        scan.rule_files |= self._rules.keys() & folder.rule_files
        scan.ignored += folder.ignored
        count = len(folder.files) + len(folder.folders)
        if self._has_pauses and scan.count // COMPARED < (scan.count + count) // COMPARED:
            pause()
        scan.count += count

    def _open(self, prefix: str) -> int | None:
        """A descriptor of a folder for ``dir_fd``, which takes two thirds of the time of full
        paths. ``None`` on Windows.
        """
        return os.open(f"{self._root}/{prefix}", _FOLDER_FLAGS) if _HAS_FOLDER_FD else None

    def _stamp_files(self, folder: _Folder, prefix: str, fd: int | None, scan: Scan) -> None:
        """Compare the stamps of the files of a folder. Most of the time of a scan is spent here."""
        look, stamps = os.stat, folder.stamps
        names = folder.files
        if fd is None:
            names = [f"{self._root}/{prefix}{name}" for name in names]
        for index, name in enumerate(names):
            try:
                status = look(name, dir_fd=fd, follow_symlinks=False)
            except OSError:
                folder.listing = None  # removed meanwhile: the next scan lists it again
                continue
            # ``stamp_of`` inlined: the calls would take 10 ms for 20,000 files.
            mode, changed = status.st_mode, status.st_ctime_ns
            stamp = (status.st_size, status.st_mtime_ns, changed, mode, status.st_ino)
            if stamp == stamps[index]:
                continue
            path = prefix + folder.files[index]
            if S_ISREG(mode) or S_ISLNK(mode):
                stamps[index] = scan.changed[path] = stamp
            elif S_ISDIR(mode):
                folder.listing = None  # replaced meanwhile
            else:
                scan.special += 1
                if stamps[index] is not None:
                    stamps[index] = None
                    scan.removed.append(path)

    def _inner(self, folder: _Folder, prefix: str, fd: int | None, scan: Scan) -> Iterator[str]:
        """Compare the modes of the subfolders; yield those to list."""
        for name, before in folder.folders.items():
            path = prefix + name
            if f"{path}/" in self.left_out:
                if before != UNREPORTED:
                    folder.folders[name] = UNREPORTED
                    scan.removed.append(path)
                continue
            try:
                target = name if fd is not None else f"{self._root}/{path}"
                mode = os.stat(target, dir_fd=fd, follow_symlinks=False).st_mode
            except OSError:
                mode = before  # removed meanwhile
            if mode != before and S_ISDIR(mode):
                folder.folders[name] = mode
                scan.changed[path] = (0, 0, 0, mode, 0)
            yield f"{path}/"

    def was_ignored(self, path: str) -> bool:
        """Whether the rules before the last scan ignored a path, or a folder above it."""
        return self._is_ignored(path, self._old_chains)

    def covers(self, path: str) -> bool:
        """Whether a scan would report a path if it existed."""
        parts = path.split("/")
        above = (
            "".join(f"{part}/" for part in parts[:depth]) or "./" for depth in range(len(parts))
        )
        return (
            self._has_scanned
            and not path.startswith("/")
            and self.left_out.isdisjoint(above)
            and not self._is_ignored(path, self._chains)
        )

    def _is_ignored(self, path: str, chains: dict[str, Rules]) -> bool:
        parts = path.split("/")
        chain: Rules = ()
        for depth, name in enumerate(parts):
            prefix = "".join(f"{part}/" for part in parts[:depth])
            chain = chains.get(prefix, chain)
            is_folder = depth < len(parts) - 1 or (self._root / path).is_dir()
            if name in NEVER or is_ignored(prefix + name, chain, is_folder=is_folder):
                return True
        return False

    def _chain(self, prefix: str, rule_files: list[str], outer: Rules, scan: Scan) -> Rules:
        """The rules that apply in a folder. Ignore files are read again only if they changed."""
        chain = outer
        for path in rule_files:
            chain = (*chain, *self._read_rules(path, prefix, scan))
        return chain

    def _read_rules(self, path: str, prefix: str, scan: Scan) -> Rules:
        file_path = self._root / path
        old = self._rules.get(path)
        text = None
        try:
            status = file_path.stat()
            if old is not None and old.stamp == stamp_of(status):
                return old.rules
            if S_ISREG(status.st_mode) and status.st_size <= MAX_IGNORE_BYTES:
                with file_path.open(encoding="utf-8", errors="surrogateescape") as file:
                    text = file.read(MAX_IGNORE_BYTES)
        except OSError:
            text = None
        if (old.text if old is not None else None) != text:
            scan.rules_changed = self._has_scanned
        if text is None:
            self._rules.pop(path, None)
            return ()
        stamp = NO_STAMP if is_racy(status, time.time_ns()) else stamp_of(status)
        self._rules[path] = _RuleFile(stamp, text, prefix)
        return self._rules[path].rules


def _rule_files(prefix: str, listing: Listing) -> list[str]:
    """The paths of a folder's ignore files."""
    names = {name for name, _ in listing if name in _RULE_NAMES}
    excluded = [f"{prefix}.git/info/exclude"] if ".git" in names else []
    return excluded + [prefix + name for name in FILES if name in names]


_RULE_NAMES = frozenset({*FILES, ".git"})


def _folder_of_rules(path: str) -> str:
    """The folder that an ignore file applies to: empty, or with a slash at the end."""
    return path.removesuffix(".git/info/exclude").removesuffix(".gitignore").removesuffix(".ignore")


def _chains_of(files: Mapping[str, _RuleFile]) -> dict[str, Rules]:
    """The rules of each folder with an ignore file, after the rules of the folders above it."""
    chains: dict[str, Rules] = {"": ()}
    folders = sorted(set(map(_folder_of_rules, files)), key=lambda folder: folder.count("/"))
    for folder in folders:
        above = max((prefix for prefix in chains if folder.startswith(prefix)), key=len)
        paths = (f"{folder}{name}" for name in (".git/info/exclude", *FILES))
        own = (files[path].rules for path in paths if path in files)
        chains[folder] = (*chains[above], *joined.from_iterable(own))
    return chains


def _match(prefix: str, folder: _Folder, old: _Folder | None, scan: Scan) -> _Folder:
    """Fill ``folder`` with the covered entries of its listing, and report removed ones."""
    stamps = dict(zip(old.files, old.stamps, strict=True)) if old is not None else {}
    modes = dict(old.folders) if old is not None else {}
    has_same_rules = old is not None and old.chain is folder.chain
    for name, is_folder in folder.listing or ():
        # An entry that the same rules did not ignore in the last scan is not matched again.
        if not (has_same_rules and name in (modes if is_folder else stamps)):
            path = prefix + name
            if name in NEVER or is_ignored(path, folder.chain, is_folder=is_folder):
                folder.ignored += 1
                continue
            if name.startswith(".pi-") and is_leftover(name):
                continue
        if is_folder:
            folder.folders[name] = modes.pop(name, UNREPORTED)
        else:
            folder.files.append(name)
            folder.stamps.append(stamps.pop(name, None))
    scan.removed += (prefix + name for name, stamp in stamps.items() if stamp is not None)
    scan.removed += (prefix + name for name, mode in modes.items() if mode != UNREPORTED)
    return folder


def _reported_paths(folder: _Folder, prefix: str) -> Iterator[str]:
    """Yield the reported paths in a folder."""
    for name, stamp in zip(folder.files, folder.stamps, strict=True):
        if stamp is not None:
            yield prefix + name
    for name, mode in folder.folders.items():
        if mode != UNREPORTED:
            yield prefix + name

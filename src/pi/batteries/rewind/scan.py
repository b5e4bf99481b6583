"""A stamp of every covered path of a project: which paths changed since the last scan.

The scan goes level by level, so that a limit cuts off deep folders first. What it left out once
stays out: a path that is covered in one scan and not in the next would look removed.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from stat import S_ISDIR, S_ISLNK, S_ISREG

from pi.batteries.rewind.pauses import COMPARED, pause
from pi.batteries.rewind.states import Stamp, is_leftover, stamp_of
from pi.extension import IgnoreRule, is_ignored, parse_ignore_rules

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
"""Folders that programs fill and can fill again; not covered even if no ignore file names them."""
NEVER = REPOSITORIES | DEPENDENCIES
MAX_IGNORE_BYTES = 1024 * 1024
SLACK = 1.25
"""How far a project may grow beyond the limit before new folders are left out."""

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
    """The result of a scan."""

    def __init__(self) -> None:
        self.stamps: dict[str, Stamp] = {}
        """By path relative to the project."""
        self.special = 0
        """Pipes, sockets and devices."""
        self.ignored = 0
        """Files and folders that ignore files name; folders are not looked into."""
        self.unreadable: list[str] = []
        """Folders that cannot be listed."""
        self.rules_changed = False


class Scanner:
    """Scans one project again and again. Blocks."""

    def __init__(self, root: Path, *, max_files: int, has_scanned: bool = False) -> None:
        self._root = root
        self._max_files = max_files
        self._has_scanned = has_scanned
        """Whether the project may have grown beyond the limit since it was scanned first."""
        self.left_out: set[str] = set()
        """Folders beyond the limit, with a slash at the end."""
        self._rules: dict[str, tuple[Stamp, Rules]] = {}
        """By path of the ignore file."""
        self._before: dict[str, Stamp] = {}
        self._chains: dict[str, Rules] = {}
        self._old_chains: dict[str, Rules] = {}

    def scan(self) -> Scan:
        """Look at everything that is covered."""
        found = Scan()
        self._old_chains, self._chains = self._chains, {}
        seen_rules: set[str] = set()
        limit = int(self._max_files * SLACK) if self._has_scanned else self._max_files
        waiting: deque[tuple[str, Rules]] = deque([("", ())])
        listed_since_pause = 0
        while waiting:
            prefix, outer = waiting.popleft()
            try:
                with os.scandir(f"{self._root}/{prefix}") as listed:
                    entries = list(listed)
            except OSError:
                if prefix:
                    found.unreadable.append(prefix)
                continue
            listed_since_pause += len(entries)
            if listed_since_pause > COMPARED:
                listed_since_pause = 0
                pause()
            chain = self._chain(prefix, entries, outer, found, seen_rules)
            self._chains[prefix] = chain
            if len(found.stamps) + len(entries) > limit:
                # A folder is covered with all of its files or not at all. Of the project's own
                # folder, the folders in it may still fit.
                self.left_out.add(prefix or "./")
                entries = [] if prefix else [e for e in entries if e.is_dir(follow_symlinks=False)]
                entries = entries if len(entries) <= limit else []
            for name in self._covered(entries, prefix, chain, found):
                waiting.append((f"{prefix}{name}/", chain))
        if self._rules.keys() - seen_rules:
            found.rules_changed = True
            self._rules = {path: self._rules[path] for path in seen_rules}
        self._has_scanned = True
        self._before = found.stamps
        return found

    def _covered(
        self, entries: list[os.DirEntry[str]], prefix: str, chain: Rules, found: Scan
    ) -> Iterator[str]:
        """Add the stamps of a folder's entries; yields the names of the folders in it."""
        stamps = found.stamps
        # What the same rules did not ignore the last time is not matched again: that would take
        # a third of the scan.
        before = self._before if self._old_chains.get(prefix) == chain else {}
        for entry in entries:
            name = entry.name
            path = prefix + name
            is_folder = entry.is_dir(follow_symlinks=False)
            old = before.get(path)
            if old is None or S_ISDIR(old[3]) is not is_folder:
                if name in NEVER or is_ignored(path, chain, is_folder=is_folder):
                    found.ignored += 1
                    continue
                if name.startswith(".pi-") and is_leftover(name):
                    continue
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                continue  # removed meanwhile
            if is_folder:
                if f"{path}/" not in self.left_out:
                    stamps[path] = (0, 0, 0, status.st_mode, 0)
                    yield name
                continue
            mode = status.st_mode
            if not (S_ISREG(mode) or S_ISLNK(mode)):
                found.special += 1
                continue
            # ``stamp_of`` in place: a call for each file takes 10 ms of 20,000.
            size, inode = status.st_size, status.st_ino
            stamps[path] = (size, status.st_mtime_ns, status.st_ctime_ns, mode, inode)

    def was_ignored(self, path: str) -> bool:
        """Whether the rules before the last scan ignored a path, or a folder above it."""
        return self._is_ignored(path, self._old_chains)

    def covers(self, path: str) -> bool:
        """Whether a scan finds a path, if it exists."""
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

    def _chain(
        self,
        prefix: str,
        entries: list[os.DirEntry[str]],
        outer: Rules,
        found: Scan,
        seen: set[str],
    ) -> Rules:
        """The rules that apply in a folder. Ignore files are read again only if they changed."""
        by_name = {entry.name: entry for entry in entries if entry.name in _RULE_NAMES}
        if not by_name:
            return outer
        chain = outer
        paths = [prefix + name for name in FILES if name in by_name]
        if ".git" in by_name:
            paths.insert(0, f"{prefix}.git/info/exclude")
        for path in paths:
            rules = self._read_rules(path, prefix, found)
            if rules is not None:
                seen.add(path)
                chain = (*chain, *rules)
        return chain

    def _read_rules(self, path: str, prefix: str, found: Scan) -> Rules | None:
        whole = self._root / path
        try:
            stamp = stamp_of(whole.stat())
            if path in self._rules and self._rules[path][0] == stamp:
                return self._rules[path][1]
            if not whole.is_file() or stamp[0] > MAX_IGNORE_BYTES:
                return None
            with whole.open(encoding="utf-8", errors="surrogateescape") as file:
                rules = parse_ignore_rules(file.read(MAX_IGNORE_BYTES), base=prefix)
        except OSError:
            return None
        found.rules_changed = found.rules_changed or self._has_scanned
        self._rules[path] = (stamp, rules)
        return rules


_RULE_NAMES = frozenset({*FILES, ".git"})

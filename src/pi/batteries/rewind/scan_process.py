"""Scans a large project in a process of its own.

A scan of 20,000 files takes some 150 ms of Python. In a thread it competes with the event loop for
the interpreter, and keys wait: for 5 ms at each switch, and for longer on a busy machine. The
process keeps the stamps and answers with what changed since the scan before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pi.batteries.rewind.scan import Scan, Scanner
from pi.batteries.rewind.states import Stamp

FUNCTION = "pi.batteries.rewind.scan_process:serve"
ROWS = 1000
"""Paths in one answer: it is decoded in the event loop, in about a millisecond."""


LARGE = 2000
"""Paths beyond which the process scans: here a scan takes 15 ms."""


class ScannerLost(Exception):
    """The process has ended, does not answer or cannot be started."""


class ProjectScanner:
    """Scans a project in this thread, or in the process once it is known to be large. Blocks."""

    def __init__(self, root: Path, *, max_files: int, ask: Callable[[Any], Any] | None) -> None:
        self._root = root
        self._max_files = max_files
        self._ask = ask
        """Sends a request to the process and waits for the answer; raises ``ScannerLost``."""
        self._scanner: Scanner | ProcessScanner = Scanner(root, max_files=max_files)

    @property
    def left_out(self) -> set[str]:
        """Folders beyond the limit, with a slash at the end."""
        return self._scanner.left_out

    def scan(self, *, expected: int) -> Scan:
        """Look at everything that is covered; about as many paths are ``expected``."""
        if self._ask is not None and expected > LARGE and isinstance(self._scanner, Scanner):
            self._scanner = ProcessScanner(
                self._root, max_files=self._max_files, left_out=self.left_out, ask=self._ask
            )
        try:
            return self._scanner.scan()
        except ScannerLost:
            return self._scan_here()

    def _scan_here(self) -> Scan:
        """The process is lost: go on without it."""
        self._ask = None
        here = Scanner(self._root, max_files=self._max_files, has_scanned=True)
        here.left_out |= self.left_out
        self._scanner = here
        return here.scan()

    def was_ignored(self, path: str) -> bool:
        """Whether the rules before the last scan ignored a path that is new in it."""
        return self._scanner.was_ignored(path)

    def covers(self, path: str) -> bool:
        """Whether a scan finds a path, if it exists."""
        try:
            return self._scanner.covers(path)
        except ScannerLost:
            self._scan_here()
            return self._scanner.covers(path)


class ProcessScanner:
    """A ``Scanner`` in another process."""

    def __init__(
        self, root: Path, *, max_files: int, left_out: set[str], ask: Callable[[Any], Any]
    ) -> None:
        self.left_out = left_out
        self._ask = ask
        self._begin = {"root": str(root), "maxFiles": max_files, "leftOut": sorted(left_out)}
        self._stamps: dict[str, Stamp] = {}
        self._were_ignored: frozenset[str] = frozenset()

    def scan(self) -> Scan:
        """Look at everything that is covered."""
        about = self._ask({**self._begin, "isFirst": not self._stamps})
        for path in about["removed"]:
            self._stamps.pop(path, None)
        for start in range(0, about["changed"], ROWS):
            rows = self._ask({"rows": start})
            self._stamps.update((path, tuple(stamp)) for path, stamp in rows)
        self.left_out.update(about["leftOut"])
        self._were_ignored = frozenset(about["wereIgnored"])
        found = Scan()
        found.stamps = self._stamps
        found.special, found.ignored = about["special"], about["ignored"]
        found.unreadable = about["unreadable"]
        found.rules_changed = about["rulesChanged"]
        return found

    def was_ignored(self, path: str) -> bool:
        """Whether the rules before the last scan ignored a path that is new in it."""
        return path in self._were_ignored

    def covers(self, path: str) -> bool:
        """Whether a scan finds a path, if it exists."""
        return bool(self._stamps) and bool(self._ask({"covers": path}))


# In the process -----------------------------------------------------------------------------------


class _Served:
    """The scanner of the process, with the stamps that the other side has."""

    scanner: Scanner
    stamps: dict[str, Stamp]
    changed: list[tuple[str, Stamp]]


def serve(request: dict[str, Any]) -> Iterator[Any]:
    """Answer a request of ``ProcessScanner``."""
    match request:
        case {"rows": int(start)}:
            yield _Served.changed[start : start + ROWS]
        case {"covers": str(path)}:
            yield _Served.scanner.covers(path)
        case _:
            if request["isFirst"]:
                root, most = Path(request["root"]), request["maxFiles"]
                _Served.scanner = Scanner(root, max_files=most, has_scanned=True)
                _Served.scanner.left_out.update(request["leftOut"])
                _Served.stamps = {}
            yield _scan()


def _scan() -> dict[str, Any]:
    scanner, before = _Served.scanner, _Served.stamps
    found = scanner.scan()
    stamps = _Served.stamps = found.stamps
    changed = _Served.changed = [row for row in stamps.items() if before.get(row[0]) != row[1]]
    new = (path for path, _ in changed if path not in before) if found.rules_changed else ()
    return {
        "changed": len(changed),
        "removed": [path for path in before if path not in stamps],
        "leftOut": sorted(scanner.left_out),
        "wereIgnored": [path for path in new if scanner.was_ignored(path)],
        "special": found.special,
        "ignored": found.ignored,
        "unreadable": found.unreadable,
        "rulesChanged": found.rules_changed,
    }

"""Scans a large project in a process of its own.

A scan of 20,000 files takes some 100 ms of Python. In a thread it competes with the event loop for
the interpreter lock, and key presses wait: 5 ms at each switch, longer on a busy machine. The
process returns the differences from the previous scan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pi.batteries.rewind.scan import Scan, Scanner
from pi.batteries.rewind.states import Stamp

FUNCTION = "pi.batteries.rewind.scan_process:serve"
ROWS = 1000
"""Maximum of paths in one answer, which is decoded in the event loop in about a millisecond."""
LARGE = 2000
"""Number of paths beyond which the process scans: in a thread this many take 15 ms."""


class ScannerLost(Exception):
    """The process has ended, does not answer or cannot be started."""


class ProjectScanner:
    """Scans a project in this thread, or in the process if it is large. Blocks."""

    def __init__(self, root: Path, *, max_files: int, ask: Callable[[Any], Any] | None) -> None:
        self._root = root
        self._max_files = max_files
        self._ask = ask
        """Sends a request to the process and waits for the answer; raises ``ScannerLost``."""
        self._scanner: Scanner | ProcessScanner = Scanner(root, max_files=max_files)
        self.stamps: dict[str, Stamp] = {}
        """All covered paths, as of the last scan."""

    @property
    def left_out(self) -> set[str]:
        """Folders beyond the limit, with a slash at the end."""
        return self._scanner.left_out

    @property
    def rule_texts(self) -> dict[str, str]:
        """The contents of the ignore files of the last scan, by path."""
        return self._scanner.rule_texts

    def resume(self, *, left_out: Iterable[str], rule_texts: Mapping[str, str]) -> None:
        """Continue after the last scan of an earlier run, or of another scanner."""
        self._scanner = Scanner(self._root, max_files=self._max_files, rule_texts=rule_texts)
        self._scanner.left_out.update(left_out)

    def scan(self, *, expected: int) -> Scan:
        """Scan all covered paths; ``expected`` is their approximate number.

        The first scan after a change between thread and process is complete, so that the results
        of the other scanner are not needed.
        """
        if self._ask is not None and expected > LARGE and isinstance(self._scanner, Scanner):
            self._scanner = ProcessScanner(
                self._root, max_files=self._max_files, before=self._scanner, ask=self._ask
            )
        try:
            scan = self._scanner.scan()
        except ScannerLost:
            return self._scan_here()
        return self._note_stamps(scan)

    def _note_stamps(self, scan: Scan) -> Scan:
        if scan.is_complete:
            self.stamps = scan.changed
            return scan
        for path in scan.removed:
            self.stamps.pop(path, None)
        self.stamps.update(scan.changed)
        return scan

    def _scan_here(self) -> Scan:
        """Scan in this thread from now on: the process is lost."""
        self._ask = None
        self.resume(left_out=self.left_out, rule_texts=self.rule_texts)
        return self._note_stamps(self._scanner.scan())

    def was_ignored(self, path: str) -> bool:
        """Whether the rules before the last scan ignored a path that is new in it."""
        return self._scanner.was_ignored(path)

    def covers(self, path: str) -> bool:
        """Whether a scan would report a path if it existed."""
        try:
            return self._scanner.covers(path)
        except ScannerLost:
            self._scan_here()
            assert isinstance(self._scanner, Scanner)
            self._scanner.begin_again()  # the result of this scan is not captured
            return self._scanner.covers(path)


class ProcessScanner:
    """A ``Scanner`` in another process."""

    def __init__(
        self, root: Path, *, max_files: int, before: Scanner, ask: Callable[[Any], Any]
    ) -> None:
        self.left_out = before.left_out
        self.rule_texts = before.rule_texts
        self._ask = ask
        self._root = root
        self._max_files = max_files
        self._last = 0
        """The number of the last scan whose rows have all arrived; 0 without one."""
        self._were_ignored: frozenset[str] = frozenset()

    def scan(self) -> Scan:
        """Scan all covered paths. Raises ``ScannerLost``."""
        reply = self._ask({"after": self._last} if self._last else self._beginning())
        self._last = 0
        scan = Scan(is_complete=reply["isComplete"])
        rows = reply["rows"]
        while rows:
            scan.changed.update((path, tuple(stamp)) for path, stamp in rows)
            has_more = len(scan.changed) < reply["changed"]
            rows = self._ask({"rows": len(scan.changed)}) if has_more else ()
        scan.removed, scan.unreadable = reply["removed"], reply["unreadable"]
        scan.special, scan.ignored = reply["special"], reply["ignored"]
        scan.rules_changed = reply["rulesChanged"]
        self.left_out.update(reply["leftOut"])
        self._were_ignored = frozenset(reply["wereIgnored"])
        if scan.rules_changed:
            self.rule_texts = reply["ruleTexts"]
        self._last = reply["number"]
        return scan

    def _beginning(self) -> dict[str, Any]:
        """The request for a complete scan."""
        return {
            "root": str(self._root),
            "maxFiles": self._max_files,
            "leftOut": sorted(self.left_out),
            "ruleTexts": self.rule_texts,
        }

    def was_ignored(self, path: str) -> bool:
        """Whether the rules before the last scan ignored a path that is new in it."""
        return path in self._were_ignored

    def covers(self, path: str) -> bool:
        """Whether a scan would report a path if it existed."""
        return self._last > 0 and bool(self._ask({"covers": path}))


# Scanner process ----------------------------------------------------------------------------------


class _ScannerState:
    """The scanner of the process, and its last answer."""

    scanner: Scanner
    number = 0
    """Number of the last scan."""
    changed: list[tuple[str, Stamp]]


def serve(request: dict[str, Any]) -> Iterator[Any]:
    """Answer a request of ``ProcessScanner``."""
    match request:
        case {"rows": int(start)}:
            yield _ScannerState.changed[start : start + ROWS]
        case {"covers": str(path)}:
            yield _ScannerState.scanner.covers(path)
        case {"after": int(number)}:
            # Otherwise an answer was lost, or the process was replaced.
            assert number == _ScannerState.number
            yield _scan()
        case {"root": str(root), "maxFiles": int(most), "ruleTexts": dict(texts)}:
            _ScannerState.scanner = Scanner(
                Path(root), max_files=most, rule_texts=texts, has_pauses=False
            )
            _ScannerState.scanner.left_out.update(request["leftOut"])
            yield _scan()


def _scan() -> dict[str, Any]:
    scanner = _ScannerState.scanner
    scan = scanner.scan()
    _ScannerState.number += 1
    _ScannerState.changed = list(scan.changed.items())
    # Includes paths that are not new: only the history can decide that.
    new = scan.changed if scan.rules_changed else ()
    return {
        "number": _ScannerState.number,
        "isComplete": scan.is_complete,
        "changed": len(scan.changed),
        "rows": _ScannerState.changed[:ROWS],
        "removed": scan.removed,
        "leftOut": sorted(scanner.left_out),
        "wereIgnored": [path for path in new if scanner.was_ignored(path)],
        "special": scan.special,
        "ignored": scan.ignored,
        "unreadable": scan.unreadable,
        "rulesChanged": scan.rules_changed,
        "ruleTexts": scanner.rule_texts if scan.rules_changed else None,
    }

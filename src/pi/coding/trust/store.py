"""``trust.json``: the directories that the person has decided about, for good."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from pi.base.clock import Clock
from pi.base.errors import PiError
from pi.base.files import DirectoryLock, private_directory, read_if_exists, replace_file
from pi.base.records import UNREADABLE


class BadTrustFile(PiError):
    """The file cannot be understood, and guessing would trust or distrust somebody wrongly."""


class TrustStore:
    """Canonical directories and whether they are trusted; shared with the original."""

    def __init__(self, path: Path, *, clock: Clock) -> None:
        self._path = path
        self._clock = clock

    def decisions(self) -> dict[str, bool]:
        """Everything that was decided; ``BadTrustFile`` if the file is broken."""
        data = read_if_exists(self._path)
        if data is None or not data.strip():
            return {}
        try:
            return msgspec.json.decode(data, type=dict[str, bool])
        except UNREADABLE as problem:
            raise BadTrustFile(
                f"The trust file {self._path} cannot be read: {problem}",
                hint="Repair it, or remove it to be asked again.",
            ) from problem

    def decide(self, changes: Mapping[Path, bool | None]) -> None:
        """Remember decisions; ``None`` forgets one."""
        import json  # whose indentation is the original's; reading is msgspec's

        private_directory(self._path.parent)
        with DirectoryLock(self._path, clock=self._clock):
            decided = self.decisions()
            for directory, trusted in changes.items():
                name = canonical(directory)
                if trusted is None:
                    decided.pop(name, None)
                else:
                    decided[name] = trusted
            text = json.dumps(decided, indent=2, ensure_ascii=False) + "\n"
            replace_file(self._path, text.encode("utf-8", "surrogatepass"))


def canonical(directory: Path) -> str:
    """The one name of a directory, however it was reached."""
    return os.path.realpath(directory)


def nearest(decisions: Mapping[str, bool], directory: Path) -> bool | None:
    """What was decided about the directory or, next to it, about one above; ``None`` if nothing."""
    here = Path(canonical(directory))
    for candidate in (here, *here.parents):
        if (trusted := decisions.get(str(candidate))) is not None:
            return trusted
    return None

"""One settings file: read as it is, written key by key under the lock that the original takes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from pi.ai.messages import Json
from pi.base.clock import Clock
from pi.base.errors import PiError
from pi.base.files import DirectoryLock, private_directory, read_if_exists, replace_file
from pi.base.records import UNREADABLE
from pi.coding.settings.layers import migrated, with_value


class BadSettings(PiError):
    """A settings file that cannot be understood; it is left as it is."""


class SettingsFile:
    """What a file holds; a missing one holds nothing, and reading creates nothing."""

    def __init__(self, path: Path, *, clock: Clock, wait: float = 15.0) -> None:
        self.path = path
        self._clock = clock
        self._wait = wait

    def read(self) -> Json:
        """Everything in the file, under the names of today; ``BadSettings`` if it is broken."""
        return migrated(self._raw())

    def change(self, changes: Mapping[tuple[str, ...], object]) -> Json:
        """Set single values, by path, and keep every other byte's meaning; ``None`` removes one.

        What somebody else wrote meanwhile stays. A broken file is not replaced.
        """
        import json  # whose indentation people know; reading is msgspec's

        private_directory(self.path.parent)
        with DirectoryLock(self.path, wait=self._wait, clock=self._clock):
            raw = migrated(self._raw())
            for path, value in changes.items():
                raw = with_value(raw, path, value)
            text = json.dumps(raw, indent=2, ensure_ascii=False)
            replace_file(self.path, text.encode("utf-8", "surrogatepass"))
        return raw

    def _raw(self) -> Json:
        data = read_if_exists(self.path)
        if data is None or not data.strip():
            return {}
        try:
            raw = msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"))
        except UNREADABLE as problem:
            raise BadSettings(f"Invalid settings file {self.path}: {problem}") from problem
        if not isinstance(raw, dict):
            raise BadSettings(f"Invalid settings file {self.path}: it must hold a JSON object")
        return raw

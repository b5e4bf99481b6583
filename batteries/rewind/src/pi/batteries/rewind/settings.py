"""The settings of rewind, and the limits that they set."""

from __future__ import annotations

from typing import Any

from pi.extension import ExtensionAPI, Record


class StoreLimits(Record):
    """Limits from the settings ``rewind.*``."""

    max_file_bytes: int = 1024 * 1024
    max_files: int = 20_000
    max_bytes: int = 256 * 1024 * 1024
    keep_days: int = 14
    store_bytes: int = 1024 * 1024 * 1024


DEFAULTS = StoreLimits()
SETTINGS: tuple[tuple[str, type[Any], Any, str], ...] = (
    ("rewind.enabled", bool, False, "save files, for /rewind"),
    ("rewind.maxFileBytes", int, DEFAULTS.max_file_bytes, "bytes beyond which no file is saved"),
    ("rewind.maxFiles", int, DEFAULTS.max_files, "files and folders of a project that are covered"),
    ("rewind.maxBytes", int, DEFAULTS.max_bytes, "bytes of a project that are covered"),
    ("rewind.keepDays", int, DEFAULTS.keep_days, "days that the points of a session are kept"),
    ("rewind.storeBytes", int, DEFAULTS.store_bytes, "bytes of all saved files of all projects"),
)
STORE_SETTINGS = ("rewind.keepDays", "rewind.storeBytes")


def read_limits(pi: ExtensionAPI) -> StoreLimits:
    """The limits from the settings; negative numbers count as 0."""
    # Settings of a project must not decide what is kept of other projects.
    values = [
        max(0, int(pi.settings.get(name, with_project=name not in STORE_SETTINGS)))
        for name, kind, _, _ in SETTINGS
        if kind is int
    ]
    return StoreLimits(
        max_file_bytes=values[0],
        max_files=values[1],
        max_bytes=values[2],
        keep_days=values[3],
        store_bytes=values[4],
    )

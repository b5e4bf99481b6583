"""The changelog, and its part since a version."""

from __future__ import annotations

import re
from pathlib import Path

from pi.base.files import read_if_exists

NAME = "CHANGELOG.md"

_SECTION = re.compile(r"^(?=## )", re.MULTILINE)
_VERSION = re.compile(r"## \[?(\d+(?:\.\d+)*)")


def changelog(docs: Path) -> str | None:
    """Return the changelog of the documentation, or of a checkout."""
    for folder in (docs, *docs.parents[:3]):
        if (content := read_if_exists(folder / NAME)) is not None:
            return content.decode("utf-8", "replace")
    return None


def changes_since(text: str, version: str) -> str:
    """Return the sections of versions above ``version``, newest first; empty if there are none."""
    parts = [part.strip() for part in _SECTION.split(text)]
    return "\n\n".join(
        part
        for part in parts
        if (match := _VERSION.match(part)) and _numbers(match[1]) > _numbers(version)
    )


def _numbers(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)]

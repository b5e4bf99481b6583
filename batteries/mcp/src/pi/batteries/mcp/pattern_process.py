"""Runs in a child process: matches one pattern of a server. Imports nothing of pi."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any


def answers(request: dict[str, Any]) -> Iterator[bool]:
    """Yield whether the pattern matches; also for a pattern of an unknown dialect."""
    try:
        yield re.search(request["pattern"], request["text"]) is not None
    except (re.error, OverflowError, RecursionError):
        yield True

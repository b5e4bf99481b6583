"""The function that worker processes run in tests; it imports little."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from typing import Any


def work(request: dict[str, Any]) -> Iterator[Any]:
    """Answer a request of a test."""
    match request:
        case {"echo": values}:
            yield from values
        case {"print": text}:
            sys.stdout.write(text)
            sys.stdout.flush()
            os.write(2, text.encode())
            yield os.getpid()
        case {"hang": before}:
            yield from before
            time.sleep(600)
        case {"crash": before}:
            yield from before
            os._exit(3)
        case _:
            yield list(sys.path)

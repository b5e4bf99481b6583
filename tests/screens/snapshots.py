"""Screens kept as text beside this module; ``WRITE_SNAPSHOTS=1`` writes them anew."""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(__file__).with_name("snapshots")


def check(name: str, shown: str) -> None:
    """Compare a screen with what it looked like when somebody last agreed."""
    path = FOLDER / f"{name}.txt"
    text = f"{shown}\n"
    if os.environ.get("WRITE_SNAPSHOTS"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")

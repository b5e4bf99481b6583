"""The versions of the original that ``scripts/oracles`` installs."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".oracles" / "originals"
VERSIONS = ("1.5.2", "0.87.1")
NODE = FOLDER / "node" / "bin" / "node"


def original(version: str) -> Path:
    """The folder of a version; its command is ``pi`` there. Skips the test if it is missing."""
    folder = FOLDER / version
    if not (folder / "ready").is_file():
        pytest.skip(f"the original {version} is missing: run scripts/oracles")
    return folder

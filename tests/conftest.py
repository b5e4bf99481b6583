"""Fixtures for every test: isolation, and tools that may not be on this machine."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("pi", deadline=None, print_blob=True)
settings.register_profile("quick", deadline=None, print_blob=True, max_examples=15)
settings.load_profile("pi")

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True)
def isolation(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the developer's home, credentials or proxy."""
    home = tmp_path_factory.mktemp("home")
    for name in list(os.environ):
        upper = name.upper()
        if upper.startswith("PI_") or upper.endswith(("_API_KEY", "_TOKEN", "_PROXY")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))


@pytest.fixture
def program() -> Callable[[str, str], str]:
    """Ask for a program by name: its path, or a skip that says what was not tested."""

    def find(name: str, what: str) -> str:
        if path := shutil.which(name):
            return path
        pytest.skip(f"{name} is not installed; not tested: {what}")

    return find


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT

"""A location to install to, and the programs that install."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pi.base.clock import SystemClock
from pi.coding.packages.programs import Programs
from pi.coding.packages.source import PackageLocation
from pi.coding.packages.store import PackageStore
from pi.coding.resources.sources import Scope
from tests.coding.packages.making import FakeNpm, Repository


@pytest.fixture
def npm(tmp_path: Path) -> FakeNpm:
    """A registry of npm in a folder."""
    return FakeNpm(tmp_path / "fake npm")


@pytest.fixture
def wheelhouse(tmp_path: Path) -> Path:
    """The only folder in which pip finds wheels."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    return folder


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """An empty repository."""
    return Repository(tmp_path / "repos" / "tips")


@pytest.fixture
def programs(npm: FakeNpm, wheelhouse: Path) -> Programs:
    """git, the fake npm, and pip without an index."""
    pip = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheelhouse), "PIP_CONFIG_FILE": os.devnull}
    return Programs(
        environ={**os.environ, **pip, "SECRET_TOKEN": "s"}, npm_command=(str(npm.program),)
    )


@pytest.fixture
def location(tmp_path: Path) -> PackageLocation:
    """The location of the user."""
    return PackageLocation(scope="user", base=tmp_path / "agent")


MakeStore = Callable[..., PackageStore]


@pytest.fixture
def make_store(tmp_path: Path, programs: Programs) -> MakeStore:
    """The packages of a location."""

    def make(scope: Scope = "user", programs: Programs = programs) -> PackageStore:
        base = tmp_path / ("agent" if scope == "user" else "site/.pi")
        location = PackageLocation(scope=scope, base=base)
        lock = tmp_path / "agent" / ".packages.lock"
        return PackageStore(location, programs, lock=lock, clock=SystemClock())

    return make


@pytest.fixture
def store(make_store: MakeStore) -> PackageStore:
    """The store of the user's packages."""
    return make_store()

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.mock_process import MockProcess, mock_server
from tests.cli.program import Program


@pytest.fixture(scope="session")
def mock() -> Iterator[MockProcess]:
    """A model server on this machine, for all tests of a worker."""
    with mock_server() as running:
        yield running


@pytest.fixture
def server(mock: MockProcess) -> MockProcess:
    """The model server with an empty log."""
    mock.reset()
    return mock


@pytest.fixture
def cli(tmp_path: Path, server: MockProcess) -> Program:
    """``pi`` with a home, a folder and a model server of its own."""
    program = Program.below(tmp_path, PI_OFFLINE="1")
    program.use_server(server.port)
    return program

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.mock_process import MockProcess, mock_server


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Exclude these tests from the quick sample: they start and measure real programs."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.slow)


@pytest.fixture
def server() -> Iterator[MockProcess]:
    with mock_server() as running:
        yield running

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bench.mock_process import MockProcess, mock_server


@pytest.fixture
def server() -> Iterator[MockProcess]:
    with mock_server() as running:
        yield running

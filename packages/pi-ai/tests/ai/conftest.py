from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from pi.ai.http.client import HttpClient


@pytest.fixture
async def http() -> AsyncIterator[HttpClient]:
    """A client that ignores the environment of the developer."""
    async with HttpClient(environ={}) as client:
        yield client

"""A real authorization server, a real client, and a store in a temporary folder."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pi.ai.auth.storage import AuthStorage
from tests.ai.auth.authorization_server import AuthorizationServer, authorization_server


@pytest.fixture
async def server() -> AsyncIterator[AuthorizationServer]:
    async with authorization_server() as server:
        yield server


@pytest.fixture
def auth_json(tmp_path: Path) -> Path:
    return tmp_path / "agent" / "auth.json"


@pytest.fixture
def storage(auth_json: Path) -> AuthStorage:
    return AuthStorage(auth_json)

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pi.coding.session.log import SessionLog
from pi.coding.session.opening import SessionLocation, new_session
from tests.coding.export.sessions import SECRET, answered, message, user_message


@pytest.fixture
def live(tmp_path: Path) -> Iterator[SessionLog]:
    """An open session with a secret in its first message."""
    log = new_session(SessionLocation(tmp_path / "sessions", "/home/ada", lambda _: None))
    log.append(message(user_message(f"My password is {SECRET}.")))
    log.append(message(answered("I forget it.")))
    yield log
    log.close()

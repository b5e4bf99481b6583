from __future__ import annotations

from pathlib import Path

import pytest

from pi.coding.session.errors import SessionInUse
from pi.coding.session.opening import open_session
from pi.coding.session.sole_use import sole_use
from tests.coding.session.kept import begin, keep, shelf


def test_nobody_can_open_the_session_meanwhile_and_everybody_after(tmp_path: Path) -> None:
    place = shelf(tmp_path)
    path = keep(place, "x")

    with sole_use(path), pytest.raises(SessionInUse):
        open_session(path, place)

    open_session(path, place).close()
    assert list(path.parent.iterdir()) == [path]


def test_a_session_that_is_open_cannot_be_had(tmp_path: Path) -> None:
    log = begin(shelf(tmp_path), "x")
    assert log.file is not None

    with pytest.raises(SessionInUse), sole_use(log.file):
        pass
    log.close()


def test_where_no_lock_can_be_there_is_none(tmp_path: Path) -> None:
    with sole_use(tmp_path / "missing" / "s.jsonl"):
        assert not (tmp_path / "missing").exists()

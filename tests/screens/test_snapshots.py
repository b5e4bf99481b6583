from __future__ import annotations

from pathlib import Path

import pytest

from tests.screens import snapshots


def test_a_changed_screen_is_shown_with_the_command_that_accepts_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "FOLDER", tmp_path)
    monkeypatch.delenv("WRITE_SNAPSHOTS", raising=False)
    (tmp_path / "box.txt").write_text("first\nsecond\nthird\n")

    with pytest.raises(pytest.fail.Exception) as failed:
        snapshots.check("box", "first\nother\nthird")

    text = str(failed.value)
    assert "box.txt:\n--- approved\n+++ now\n" in text
    assert " first\n-second\n+other\n third\n" in text
    assert text.endswith("Accept: WRITE_SNAPSHOTS=1 ./test tests/screens/test_snapshots.py")


def test_a_screen_is_accepted_on_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "FOLDER", tmp_path)
    monkeypatch.setenv("WRITE_SNAPSHOTS", "1")

    snapshots.check("box", "first")

    assert (tmp_path / "box.txt").read_text() == "first\n"

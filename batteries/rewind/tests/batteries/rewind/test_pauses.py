"""The capturing thread pauses so that the event loop can handle keys."""

from __future__ import annotations

import gc
import time
from pathlib import Path
from typing import Any

import pytest

from tests.batteries.rewind.project_fixture import ProjectFixture

FILES = 110


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The times that the thread slept."""
    durations: list[float] = []
    monkeypatch.setattr(time, "sleep", durations.append)
    return durations


def filled(folder: Path) -> ProjectFixture:
    project = ProjectFixture(folder)
    for number in range(FILES):
        (project.root / f"f{number}").write_text(f"{number}")
    return project


def test_reading_files_and_the_index_pauses_between_batches(
    tmp_path: Path, pauses: list[float]
) -> None:
    project = filled(tmp_path)
    project.history.capture("outside")
    captured = len(pauses)
    project.history.close()
    pauses.clear()
    project.open()
    opened = len(pauses)
    project.history.close()

    assert captured >= FILES // 5
    assert opened >= FILES // 50


def test_file_states_are_not_tracked_by_the_garbage_collector(tmp_path: Path) -> None:
    project = filled(tmp_path)
    project.history.capture("outside")
    gc.collect()
    known_files: dict[str, Any] = project.history._known

    assert len(known_files) == FILES
    assert not any(map(gc.is_tracked, known_files.values()))

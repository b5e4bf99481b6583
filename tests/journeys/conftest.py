"""The fixture of journeys."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.journeys.model_server import model_server
from tests.journeys.program import Journey


@pytest.fixture
def untouched(tmp_path: Path) -> Iterator[Journey]:
    """A journey that begins in a new home: no settings, no model, no session."""
    if os.name != "posix":
        pytest.skip("journeys need pseudo-terminals and process groups")
    with model_server() as model:
        journey = Journey(tmp_path, model)
        yield journey
        journey.check()


@pytest.fixture
def journey(untouched: Journey) -> Journey:
    """A journey of a user who has used pi before and has one model, that of ``journey.model``."""
    untouched.home.use_model(untouched.model)
    untouched.home.use_settings()
    return untouched

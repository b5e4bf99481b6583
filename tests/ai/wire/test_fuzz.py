from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.ai.wire.conformance import WIRES
from tests.ai.wire.fuzz import load


@pytest.mark.slow
def test_no_damaged_answer_gets_past_the_decoders(root: Path) -> None:
    # A process of its own: the alarm against hangs would stop the one of pytest-timeout.
    command = [sys.executable, "-m", "tests.ai.wire.fuzz", "--seconds", "1"]

    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=90)

    assert done.returncode == 0, done.stdout[-10_000:] + done.stderr[-2000:]


@pytest.mark.parametrize("api", WIRES)
def test_a_recording_that_is_taken_apart_and_put_together_is_the_same(api: str) -> None:
    for recorded in load([api]):
        framing = recorded.framing
        events = framing.split(recorded.body)
        assert framing.split(framing.join(events)) == events

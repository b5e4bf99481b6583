from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.workspace import import_path
from tests.ai.wire.conformance import WIRES
from tests.ai.wire.fuzz import load


@pytest.mark.slow
def test_fuzzed_responses_cause_no_unexpected_errors_in_the_decoders(root: Path) -> None:
    # In its own process: the alarm against hangs would replace that of pytest-timeout.
    command = [sys.executable, "-m", "tests.ai.wire.fuzz", "--seconds", "1"]

    environ = {**os.environ, "PYTHONPATH": import_path(root)}

    done = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=90)

    assert done.returncode == 0, done.stdout[-10_000:] + done.stderr[-2000:]


@pytest.mark.parametrize("api", WIRES)
def test_splitting_and_joining_a_recording_keeps_its_events(api: str) -> None:
    for recorded in load([api]):
        framing = recorded.framing
        events = framing.split(recorded.body)
        assert framing.split(framing.join(events)) == events

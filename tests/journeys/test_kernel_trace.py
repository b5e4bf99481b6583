"""`PI_PYTHON_IPC_TRACE` logs what is exchanged with kernels."""

from __future__ import annotations

import pytest

from tests.journeys.program import Journey


@pytest.mark.parametrize("mode", ["print", "json", "rpc", "terminal"])
def test_frames_of_kernels_are_in_the_log_of_every_mode(journey: Journey, mode: str) -> None:
    journey.home.use_settings(eval={"py": True})
    journey.model.calls("python", cells=[{"code": "print(6 * 7)"}])
    if mode == "terminal":
        with journey.terminal(PI_PYTHON_IPC_TRACE="1") as user:
            user.submits("go")
            user.sees("All is well.")
    elif mode == "rpc":
        with journey.rpc(PI_PYTHON_IPC_TRACE="1") as client:
            client.prompts("go")
    else:
        how = ["-p"] if mode == "print" else ["--mode", "json"]
        journey.pi(*how, "go", PI_PYTHON_IPC_TRACE="1")
    assert "Python kernel to: " in journey.home.log and "print(6 * 7)" in journey.home.log

"""Sessions of another project, and a home in which no session can be stored."""

from __future__ import annotations

import os

import pytest

from tests.journeys.program import Journey

ID = "11111111-1111-4111-8111-111111111111"


@pytest.mark.parametrize("option", ["--resume", pytest.param("--session", marks=pytest.mark.full)])
def test_a_session_of_another_project_needs_a_terminal(journey: Journey, option: str) -> None:
    folder = journey.folder / "other"
    folder.mkdir()
    journey.home.add_session("herons", id=ID, cwd=folder)

    ended = journey.pi("-p", option, ID[:8], "go on", piped="y\n")

    assert ended.code == 1
    assert ended.err.startswith(f"Error: Session found in another project: {folder}\n")
    assert "--fork" in ended.err
    assert journey.model.requests == []


def test_a_prompt_in_a_read_only_home_succeeds_with_a_warning(journey: Journey) -> None:
    if os.geteuid():
        journey.home.agent_dir.chmod(0o555)
    else:  # root may write anywhere else
        journey.environ["PI_CODING_AGENT_SESSION_DIR"] = "/sys/pi"
    try:
        ended = journey.pi("-p", "hello")
    finally:
        journey.home.agent_dir.chmod(0o755)

    assert (ended.code, ended.out) == (0, "All is well.\n")
    assert ended.err.startswith("The session is no longer saved")

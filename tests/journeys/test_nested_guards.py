"""Guards hold in a sub-agent and still hold in its parent afterwards."""

from __future__ import annotations

import json

from tests.journeys.program import Journey

SECRET = "sk-of-a-journey-0123456789abcdef"


def test_guards_hold_in_a_sub_agent_and_after_it(journey: Journey) -> None:
    journey.home.use_settings(
        batteries="recommended",
        sandbox={"enabled": True},
        permissions={"deny": ["Bash(touch:*)"]},
    )
    outside = journey.folder / "outside.txt"
    journey.model.calls("task", task=f"Work with {SECRET}.", name="a")
    journey.model.calls("bash", command="touch denied.txt")
    journey.model.calls("bash", command=f"echo x > {outside}")
    journey.model.calls("write", path="made.txt", content="by a sub-agent")
    journey.model.calls("yield", data="done")
    journey.model.says("First.")
    journey.model.calls("bash", command="touch denied.txt")
    journey.model.calls("bash", command=f"echo x > {outside}")
    journey.model.calls("write", path="later.txt", content="by the session")
    journey.model.says("Second.")

    ended = journey.pi(
        "-p",
        f"first with {SECRET}",
        f"second with {SECRET}",
        JOURNEY_API_KEY=SECRET,
        TMPDIR=str(journey.home.cwd),
    )

    assert (ended.code, ended.out) == (0, "Second.\n"), ended
    assert journey.model.unused == 0
    assert SECRET not in json.dumps(journey.model.requests)
    assert not outside.exists()
    assert not (journey.home.cwd / "denied.txt").exists()
    assert (journey.home.cwd / "made.txt").exists()
    undone = journey.pi("rewind", "2", "--yes")
    assert undone.code == 0, undone
    assert not (journey.home.cwd / "made.txt").exists()
    assert not (journey.home.cwd / "later.txt").exists()

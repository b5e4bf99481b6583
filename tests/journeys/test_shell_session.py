"""The commands of a session that run in one shell (``bash.extended``)."""

from __future__ import annotations

import re

import pytest

from tests.journeys.program import Journey


@pytest.fixture
def extended(journey: Journey) -> Journey:
    """A journey with the extended ``bash`` tool."""
    journey.home.use_settings(bash={"extended": True})
    return journey


def outputs(journey: Journey, *commands: str) -> list[str]:
    """The results of these commands in one run."""
    for command in commands:
        journey.model.calls("bash", command=command)
    assert journey.pi("-p", "run them").code == 0
    return journey.model.results_of()


def test_the_output_is_what_the_command_printed(extended: Journey) -> None:
    by_signal, killed, background = outputs(
        extended,
        "find / -maxdepth 2 2>/dev/null | head -n 2 | wc -l",
        "sh -c 'kill -KILL $$'; echo after",
        "sleep 0.1 & echo now; wait",
    )

    assert by_signal == "2\n"
    assert re.fullmatch(r"\S*bash: line 1: +\d+ Killed +sh -c 'kill -KILL \$\$'\nafter\n", killed)
    assert background == "now\n"


def test_a_command_that_exits_leaves_the_shell_as_it_was(extended: Journey) -> None:
    _, exited, after = outputs(
        extended, "mkdir d; cd d; x=kept", "cd /nowhere || exit 1; echo never", "echo $x; pwd"
    )

    assert re.fullmatch(
        r"\S*bash: line 1: cd: /nowhere: No such file or directory\n\n\nCommand exited with code 1",
        exited,
    )
    assert after == f"kept\n{extended.home.cwd}/d\n"

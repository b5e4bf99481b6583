"""A user without a screen learns of protected files that the sandbox could not protect."""

from __future__ import annotations

import pytest

from tests.journeys.program import Journey


def test_print_mode_names_a_protected_file_that_a_command_created(journey: Journey) -> None:
    journey.home.use_settings(batteries="recommended", sandbox={"enabled": True})
    journey.model.calls("bash", command="echo x > .envrc")

    ended = journey.pi("-p", "go", TMPDIR=str(journey.home.cwd))

    (result,) = journey.model.results_of()
    if "the user was informed" not in result:
        pytest.skip(f"the sandbox of this machine gave: {result[:200]}")
    assert f"created {journey.home.cwd / '.envrc'}, which runs commands later" in ended.err

"""Whole sessions: a host and guests over a real relay."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.testing import calls, says
from tests.batteries.collab.sessions import Gate, person, relay_running, until


async def test_a_guest_has_the_log_of_the_host_byte_for_byte(tmp_path: Path) -> None:
    steps = (says("Hello there."), calls("bash", command="echo out"), says("Done."))
    async with (
        relay_running() as relay,
        person(tmp_path, "hanna", *steps) as hanna,
        person(tmp_path, "gus") as gus,
    ):
        await hanna.session.prompts.prompt("First.")
        await hanna.run(f"/collab {relay.address}")
        assert "pi join" in hanna.ui.texts[-1]
        await gus.join(hanna.link())
        assert gus.lines == hanna.lines
        await hanna.session.prompts.prompt("Run it.")
        await until(lambda: gus.lines == hanna.lines)
        assert len(gus.lines) > 5
        await until(lambda: gus.file == hanna.file)
        await gus.run("From the guest.")

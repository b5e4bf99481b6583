"""Commands that are rejected while the agent is running."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi.base.errors import PiError
from pi.modes.interactive.commands.table import require_idle
from tests.modes.interactive.commands.command_fixture import at_work, command_fixture


async def test_an_idle_agent_is_accepted(tmp_path: Path) -> None:
    async with command_fixture(tmp_path) as on:
        require_idle(on.screen)


@pytest.mark.parametrize(
    ("keys", "ways"),
    [
        (("escape",), "Wait for the answer, or stop it with Escape."),
        (("f2", "ctrl+y"), "Wait for the answer, or stop it with F2 or Ctrl+Y."),
        ((), "Wait for the answer."),
    ],
)
async def test_the_key_that_stops_the_agent_is_named(
    tmp_path: Path, keys: tuple[str, ...], ways: str
) -> None:
    async with at_work(tmp_path) as on:
        on.screen.keymap.load({"app.interrupt": keys})
        with pytest.raises(PiError) as refused:
            require_idle(on.screen)
        assert refused.value.explain() == f"Not available while the agent is running. {ways}"

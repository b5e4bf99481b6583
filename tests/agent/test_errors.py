from __future__ import annotations

import pytest

from pi.agent.errors import (
    AgentBusy,
    BadToolName,
    CannotContinue,
    PromptRefused,
    WouldDeadlock,
)
from pi.base.errors import PiError


@pytest.mark.parametrize(
    "kind", [AgentBusy, BadToolName, CannotContinue, PromptRefused, WouldDeadlock]
)
def test_what_goes_wrong_with_an_agent_is_told_like_everything_else(kind: type[PiError]) -> None:
    assert kind("What happened.", hint="What to do.").explain() == "What happened. What to do."

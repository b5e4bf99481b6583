from __future__ import annotations

import inspect

from pi.agent.agent import Agent
from pi.agent.agent_options import AgentOptions

SET_BY_OTHERS = {
    "self",
    "stream",
    "model",
    "system_prompt",
    "conversation",
    "policies",
    "options",
}


def test_every_parameter_of_an_agent_is_an_option_or_set_by_who_builds_it() -> None:
    parameters = set(inspect.signature(Agent.__init__).parameters)

    assert set(AgentOptions.__annotations__) == parameters - SET_BY_OTHERS

"""What may be said of an agent by whoever builds one inside something else."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypedDict

from pi.agent.conversation import Convert, Transform
from pi.agent.inbox import QueueMode
from pi.agent.tool import AgentTool
from pi.ai.models.model import ThinkingLevel
from pi.base.clock import Clock


class AgentOptions(TypedDict, total=False):
    """Parameters of ``Agent`` that are handed through as they are."""

    thinking_level: ThinkingLevel
    tools: Iterable[AgentTool]
    convert_to_llm: Convert | None
    transform_context: Transform | None
    steering_mode: QueueMode
    follow_up_mode: QueueMode
    clock: Clock | None

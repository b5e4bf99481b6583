"""An agent embedded in a program: a model, a tool, a prompt. Runs offline."""

import asyncio

from pi.agent import Agent, AgentEvent, MessageUpdate, ToolExecutionEnd, tool
from pi.ai import TextDelta
from pi.testing import FAUX_MODEL, ScriptedStream, calls, says


@tool
def add(a: float, b: float) -> float:
    """Add two numbers."""
    return a + b


def show(event: AgentEvent) -> None:
    match event:
        case ToolExecutionEnd():
            print(f"[{event.tool_name} has run]")
        case MessageUpdate(assistant_message_event=TextDelta(delta=words)):
            print(words, end="")


# A script answers, so that no key is needed. A real model: create_models().stream_simple
stream = ScriptedStream(calls("add", a=2, b=3), says("2 and 3 make 5.\n"))
agent = Agent(stream, model=FAUX_MODEL, system_prompt="Calculate.", tools=[add])
agent.subscribe(show)
asyncio.run(agent.prompt("What is 2 plus 3?"))

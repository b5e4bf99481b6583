"""An agent runs a tool that does nothing, once per answer: ``calls CALLS``.

Prints the CPU time, in ms, of the last 1,000 calls, or of all if they are fewer.
"""

import asyncio
import sys
import time

from bench.programs.agent.in_memory import MODEL, Calling
from pi.agent.agent import Agent
from pi.agent.events import AgentEvent, ToolExecutionEnd
from pi.agent.tools.define import tool


@tool
async def nothing(number: int) -> str:
    """Do nothing."""
    return "done"


async def main(calls: int) -> None:
    """Run all calls in one conversation."""
    stream = Calling("nothing", calls)
    begun = time.process_time()

    def listen(event: AgentEvent) -> None:
        nonlocal begun
        if isinstance(event, ToolExecutionEnd) and stream.remaining == 1000:
            begun = time.process_time()

    agent = Agent(stream, model=MODEL, tools=(nothing,))
    agent.subscribe(listen)
    await agent.prompt("Call.")
    print((time.process_time() - begun) * 1e3)


asyncio.run(main(int(sys.argv[1])))

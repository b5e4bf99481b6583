"""The calls of ``calls`` with nothing around them: ``bare_calls CALLS``; prints the same."""

import asyncio
import sys
import time

from bench.programs.agent.in_memory import MODEL, Calling
from pi.ai.messages import AssistantMessage, Context, Text, ToolResultMessage
from pi.ai.request import StreamOptions


async def nothing(number: int) -> str:
    """Do nothing."""
    return "done"


async def main(calls: int) -> None:
    """Ask, read every event, call, and ask again."""
    stream = Calling("nothing", calls)
    messages: list[AssistantMessage | ToolResultMessage] = []
    begun = time.process_time()
    has_calls = True
    while has_calls:
        if stream.remaining == 1000:
            begun = time.process_time()
        answer = stream(MODEL, Context(messages=tuple(messages)), StreamOptions())
        async for _ in answer:
            pass
        message = await answer.result()
        messages.append(message)
        for call in message.tool_calls:
            messages.append(
                ToolResultMessage(
                    tool_call_id=call.id,
                    tool_name=call.name,
                    content=(Text(text=await nothing(**call.arguments)),),
                )
            )
        has_calls = bool(message.tool_calls)
    print((time.process_time() - begun) * 1e3)


asyncio.run(main(int(sys.argv[1])))

"""Print the events of an agent with a custom tool. Runs offline."""

import asyncio

from pi.sdk import (
    AgentSessionEvent,
    MessageUpdate,
    SessionManager,
    TextDelta,
    ToolExecutionEnd,
    create_agent_session,
    discover_models,
    tool,
)
from pi.testing import ScriptedProvider, calls, says


@tool
def population(city: str) -> int:
    """How many people live in a city."""
    return {"Paris": 2_100_000}[city]


def show(event: AgentSessionEvent) -> None:
    match event:
        case ToolExecutionEnd(is_error=False):
            print(f"[{event.tool_name} has run]")
        case MessageUpdate(assistant_message_event=TextDelta(delta=words)):
            print(words, end="")


async def main() -> None:
    models = discover_models()
    script = ScriptedProvider(calls("population", city="Paris"), says("About two million.\n"))
    models.models.register(script)

    created = await create_agent_session(
        model_registry=models,
        model="faux/faux",
        custom_tools=[population],
        session_manager=SessionManager.in_memory(),
    )
    async with created.session as session:
        async for event in session.stream("How many people live in Paris?"):
            show(event)
        print(f"{session.info.stats().tool_calls} tool call")


asyncio.run(main())

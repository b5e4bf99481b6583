"""A harness with a store: save a conversation, compact it, resume it. Runs offline."""

import asyncio

from pi.agent import AgentHarness, CompactionSettings, MemoryStore, Skill, SystemPrompt, tool
from pi.testing import FAUX_MODEL, ScriptedStream, calls, says

GREETING = Skill(
    name="greet", description="How to greet people.", location="/greet", content="Say 'Ahoy'."
)


@tool
def remember(fact: str) -> str:
    """Write a fact down."""
    return f"noted: {fact}"


async def main() -> None:
    store = MemoryStore()
    # A script answers, so that no key is needed. A real model: create_models().stream_simple
    harness = AgentHarness(
        ScriptedStream(
            calls("remember", fact="The user is Ada."),
            says("Ahoy, Ada."),
            says("Nothing else."),
            says("Ada introduced herself."),  # answers the request for a summary
        ),
        store,
        model=FAUX_MODEL,
        tools=[remember],
        system_prompt=SystemPrompt({"role": "You are brief."}),
        skills=[GREETING],
        compaction=CompactionSettings(keep_recent_tokens=10),
    )
    await harness.prompt("/skill:greet I am Ada.")
    print(harness.agent.state.messages[-1].text)
    await harness.prompt("Is there anything else?")
    print((await harness.compact()).summary.splitlines()[0])
    await harness.close()

    later = AgentHarness(
        ScriptedStream(says("You are Ada.")),
        store,
        model=FAUX_MODEL,
        conversation_id=harness.conversation.id,
    )
    await later.prompt("Who am I?")
    print(later.agent.state.messages[-1].text, len(later.conversation.entries()), "entries")
    await later.close()


asyncio.run(main())

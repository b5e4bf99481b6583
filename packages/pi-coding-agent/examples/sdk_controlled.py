"""Two concurrent agents without discovery: everything is passed in. Runs offline."""

import asyncio
from pathlib import Path

from pi.sdk import (
    ContextFile,
    PromptTemplate,
    SessionManager,
    Settings,
    create_agent_session,
    discover_models,
)
from pi.testing import ScriptedProvider, says


async def review(name: str, answer: str) -> str:
    models = discover_models()
    models.models.register(ScriptedProvider(says(answer)))
    created = await create_agent_session(
        agent_dir=Path("agents") / name,  # settings, credentials and sessions of its own
        model_registry=models,
        model="faux/faux",
        thinking_level="off",
        tools=["read", "grep", "find", "ls"],  # no built-in tool that writes
        settings=Settings.in_memory({"compaction.enabled": False}),
        session_manager=SessionManager.in_memory(),
        context_files=[ContextFile(path="rules", content="Be strict.")],
        prompt_templates=[
            PromptTemplate(name="review", description="reviews", content=f"Review $1 as {name}.")
        ],
        skills=[],  # none: an empty list is not the same as leaving it out
        trust=False,
        environ={"PATH": "/usr/bin:/bin"},
    )
    async with created.session as session:
        answered = await session.prompt("/review main.py")
        assert answered is not None
        return f"{name}: {answered.text} ({answered.stop_reason})"


async def main() -> None:
    for line in await asyncio.gather(review("ada", "Fine."), review("bob", "Too long.")):
        print(line)


asyncio.run(main())

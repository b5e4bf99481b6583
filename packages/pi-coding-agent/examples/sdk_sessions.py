"""Close a session, resume it, and fork from an earlier message. Runs offline."""

import asyncio

from pi.sdk import SessionManager, create_agent_session, discover_models
from pi.testing import ScriptedProvider, says


async def main() -> None:
    models = discover_models()
    script = ScriptedProvider(says("Hello, Ada."), says("You are Ada."), says("Hello, Bob."))
    models.models.register(script)

    created = await create_agent_session(model_registry=models, model="faux/faux")
    async with created.session as session:
        await session.prompt("I am Ada.")

    listed = SessionManager.list(session.cwd)
    print(f"{len(listed)} session: {listed[0].summary.first_message}")

    last = SessionManager.continue_recent(session.cwd)
    created = await create_agent_session(model_registry=models, session_manager=last)
    async with created.session as session:
        answer = await session.prompt("Who am I?")
        print(answer.text if answer else "no answer")

        first_prompt = session.info.fork_points()[0]
        await session.fork(first_prompt.entry_id)
        answer = await session.prompt("I am Bob.")
        print(answer.text if answer else "no answer")


asyncio.run(main())

"""A session as a web page and as Markdown; API keys are redacted. Runs offline."""

import asyncio

from pi.sdk import create_agent_session, discover_models
from pi.testing import ScriptedProvider, says


async def main() -> None:
    models = discover_models()
    models.models.register(ScriptedProvider(says("Keep it *secret*.")))
    created = await create_agent_session(model_registry=models, model="faux/faux")
    async with created.session as session:
        await session.prompt("My key is sk-0123456789abcdefgh.")
        page = await session.export()
        words = await session.export("session.md")
    conversation = words.read_text(encoding="utf-8").partition("## User")[2]
    print(f"Exported to: {page.name}\n{conversation}")


asyncio.run(main())

"""Ask with the public API of ``pi.ai``: ``pi_ai_stream.py URL API MODEL…``."""

import asyncio
import sys
import time
from pathlib import Path

from pi.ai.auth.storage import AuthStorage
from pi.ai.collection import Models
from pi.ai.events import TextDelta
from pi.ai.factory import create_models
from pi.ai.messages import Context, UserMessage
from pi.ai.models.model import Model
from pi.ai.request import StreamOptions
from pi.base.clock import SystemClock

QUESTION = Context(messages=(UserMessage(content="Say hello"),))
KEY = StreamOptions(api_key="KEY")
NOWHERE = Path("/nonexistent")


async def main(url: str, api: str, *names: str) -> None:
    """Ask each model in turn."""
    models = create_models(
        storage=AuthStorage(NOWHERE / "auth.json"),
        environ={},
        clock=SystemClock(),
        cwd=NOWHERE,
        folder=NOWHERE,
    )
    provider = api.partition("-")[0]  # the name of a wire begins with that of its vendor
    for name in names:
        await ask(models, Model(id=name, name=name, api=api, provider=provider, base_url=url))
    await models.close()


async def ask(models: Models, model: Model) -> None:
    """Read one answer and print the line that ``bench.programs`` describes."""
    words: list[str] = []
    began, first = time.process_time(), 0.0
    stream = models.stream_simple(model, QUESTION, KEY)
    async for event in stream:
        if isinstance(event, TextDelta):
            if not words:
                first = time.process_time()
            words.append(event.delta)
    if stream.failure is not None:
        raise stream.failure
    print(len("".join(words)), first * 1e3, (time.process_time() - began) * 1e3)


asyncio.run(main(*sys.argv[1:]))

"""Ask over a wire of ``pi.ai`` with no stream around it: ``pi_ai_wire.py URL API MODEL…``.

HTTP, server-sent events, decoder and builder are all there is. No code waits for the events, so
only the length of the text is printed.
"""

import asyncio
import sys

from pi.ai.builder import MessageBuilder
from pi.ai.http.client import HttpClient
from pi.ai.messages import UserMessage
from pi.ai.models.model import Model
from pi.ai.request import Access, Call
from pi.ai.wire_support.exchange import Services
from pi.ai.wires import load_wire
from pi.base.clock import SystemClock


async def main(url: str, api: str, *names: str) -> None:
    """Ask each model in turn."""
    async with HttpClient(environ={}) as http:
        services = Services(http=http, clock=SystemClock(), environ={})
        for name in names:
            await ask(Model(id=name, name=name, api=api, provider="", base_url=url), services)


async def ask(model: Model, services: Services) -> None:
    """Read one answer and print the length of its text."""
    messages = (UserMessage(content="Say hello"),)
    call = Call(model=model, messages=messages, access=Access(api_key="KEY", kind="api_key"))
    builder = MessageBuilder(model, now_ms=0)

    def drop() -> None:
        builder.take()

    await load_wire(model.api)(call, builder, drop, services)
    print(len(builder.message().text))


asyncio.run(main(*sys.argv[1:]))

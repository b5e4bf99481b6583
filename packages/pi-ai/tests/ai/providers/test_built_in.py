from __future__ import annotations

from pi.ai.builder import MessageBuilder
from pi.ai.event_stream import EventStream, Flush
from pi.ai.http.client import HttpClient
from pi.ai.models.model import Model
from pi.ai.provider import Provider
from pi.ai.providers.wire_provider import WireProvider
from pi.ai.request import Call
from pi.ai.wire_support.exchange import Services
from pi.base.testing import FakeClock

ROW = Provider(id="p", name="P")
MODEL = Model(id="m", name="M", api="smoke-signals", provider="p")
SERVICES = Services(http=HttpClient(environ={}), clock=FakeClock(), environ={})


async def test_a_model_with_an_unknown_wire_fails_only_when_it_is_used() -> None:
    provider = WireProvider(ROW, lambda: (MODEL,))

    async def answer(builder: MessageBuilder, flush: Flush) -> None:
        await provider.answer(Call(model=MODEL, messages=()), builder, flush, SERVICES)

    assert (provider.row, provider.models()) == (ROW, (MODEL,))
    await provider.refresh(SERVICES, None)
    message = await EventStream(MessageBuilder(MODEL, now_ms=0), answer).result()
    assert message.error_message == 'No wire protocol is called "smoke-signals".'

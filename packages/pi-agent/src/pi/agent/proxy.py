"""``StreamFn`` over a proxy server that sends pi's own events.

The server holds the API keys and chooses the provider; ``pi.ai.wire.pi_messages`` implements both
ends.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from pi.ai.builder import MessageBuilder
from pi.ai.event_stream import EventStream, Flush
from pi.ai.messages import Context
from pi.ai.models.model import Model
from pi.ai.request import Access, Call, StreamOptions
from pi.ai.transcript import conversation
from pi.ai.wires import load_wire
from pi.base.clock import Clock, SystemClock

if TYPE_CHECKING:  # importing it would load the HTTP client before any request is made
    from pi.ai.wire_support.exchange import Services

WIRE = "pi-messages"


class StreamProxy:
    """Sends all requests to the server. Its owner closes it."""

    def __init__(self, access: Access, make_services: Callable[[], Services], clock: Clock) -> None:
        self._access = access
        self._make_services = make_services
        self._clock = clock
        self._services: Services | None = None

    def __call__(self, model: Model, context: Context, options: StreamOptions) -> EventStream:
        """Request ``model`` from the server, which resolves the name."""
        access = self._access
        call = Call(model=model, messages=conversation(context), options=options, access=access)
        builder = MessageBuilder(model, now_ms=self._clock.now_ms())
        return EventStream(builder, partial(self._answer, call))

    async def close(self) -> None:
        """Close all pooled connections."""
        services, self._services = self._services, None
        if services is not None:
            await services.close()

    async def _answer(self, call: Call, builder: MessageBuilder, flush: Flush) -> None:
        if self._services is None:
            self._services = self._make_services()
        await load_wire(WIRE)(call, builder, flush, self._services)


def stream_proxy(
    url: str,
    token: str | None = None,
    *,
    make_services: Callable[[], Services] | None = None,
    clock: Clock | None = None,
) -> StreamProxy:
    """Return a ``StreamFn`` for the server at ``url``, authenticated with ``token``.

    ``make_services`` is called with the first request and supplies the HTTP client;
    ``pi.ai.factory.make_services`` supports proxies and certificates.
    """
    clock = clock or SystemClock()
    access = Access(api_key=token, base_url=url, kind="api_key" if token else "none")
    return StreamProxy(access, make_services or partial(_plain_services, clock), clock)


def _plain_services(clock: Clock) -> Services:
    # Deferred: no HTTP client before the first request.
    from pi.ai.factory import Network, make_services

    return make_services({}, clock, Network())

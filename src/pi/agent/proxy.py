"""Models behind a server: a ``StreamFn`` that asks it and gets pi's own events, without repetition.

The server holds the keys and chooses how to ask; ``pi.ai.wire.pi_messages`` has both ends.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from pi.ai.builder import MessageBuilder
from pi.ai.messages import Context
from pi.ai.models.model import Model
from pi.ai.provider import load_wire
from pi.ai.request import Access, Call, StreamOptions
from pi.ai.stream import EventStream, Flush
from pi.ai.transcript import conversation
from pi.base.clock import Clock, SystemClock

if TYPE_CHECKING:  # importing it would load the HTTP client before any request is made
    from pi.ai.wire_support.exchange import Services

WIRE = "pi-messages"


class StreamProxy:
    """Asks the server for every model. One owner; close it when done."""

    def __init__(self, access: Access, make_services: Callable[[], Services], clock: Clock) -> None:
        self._access = access
        self._make_services = make_services
        self._clock = clock
        self._services: Services | None = None

    def __call__(self, model: Model, context: Context, options: StreamOptions) -> EventStream:
        """Ask the server for ``model``; what the name means there is its own affair."""
        access = self._access
        call = Call(model=model, messages=conversation(context), options=options, access=access)
        builder = MessageBuilder(model, now_ms=self._clock.now_ms())
        return EventStream(builder, partial(self._answer, call))

    async def close(self) -> None:
        """Close every connection that requests have left open."""
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
    """A ``StreamFn`` over the server at ``url``, which is asked with ``token``.

    ``make_services`` is called with the first request, for those who need an HTTP client of their
    own; ``pi.ai.factory.make_services`` knows proxies and certificates.
    """
    clock = clock or SystemClock()
    access = Access(api_key=token, base_url=url, kind="api_key" if token else "none")
    return StreamProxy(access, make_services or partial(_plain_services, clock), clock)


def _plain_services(clock: Clock) -> Services:
    # Here, not above: no HTTP client before the first request.
    from pi.ai.factory import Network, make_services

    return make_services({}, clock, Network())

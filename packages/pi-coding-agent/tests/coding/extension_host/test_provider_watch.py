from __future__ import annotations

from typing import Any

from pi.ai.providers.faux import FAUX_MODEL
from pi.base.records import replace
from pi.coding.bus import EventBus, Owner
from pi.coding.extension_host.contributions.model_wraps import ModelRequest
from pi.coding.extension_host.contributions.session_wraps import with_provider_events
from pi.coding.extension_host.events.handlers import Handler, subscribe_handler
from pi.coding.extension_host.watchdog import Watchdog
from pi.testing import FakeClock

ME = Owner(name="me", path="/me.py")
MODEL = replace(FAUX_MODEL, headers={"X-Model": "1"})


def subscribe(bus: EventBus, name: str, handler: Handler) -> None:
    subscribe_handler(bus, Watchdog(FakeClock()), name, handler, None, ME)


async def test_headers_are_changed_in_place_and_payloads_replaced() -> None:
    bus, reported = EventBus(), []

    def headers(event: Any, ctx: Any) -> None:
        reported.append("headers")
        event.headers["X-Mine"] = "2"
        event.headers["X-Model"] = None

    def payload(event: Any, ctx: Any) -> Any:
        reported.append("payload")
        return {**event.payload, "more": True}

    subscribe(bus, "before_provider_headers", headers)
    subscribe(bus, "before_provider_request", payload)
    subscribe(bus, "after_provider_response", lambda event, ctx: reported.append(str(event.status)))
    options = with_provider_events(ModelRequest(model=MODEL, messages=()), bus).options

    assert options.on_payload is not None
    assert options.on_response is not None
    assert await options.on_payload({"a": 1}, MODEL) == {"a": 1, "more": True}
    await options.on_response(200, {}, MODEL)

    assert options.headers == {"X-Model": None, "X-Mine": "2"}
    assert reported == ["headers", "payload", "200"]


async def test_callbacks_of_the_caller_are_called_before_handlers() -> None:
    bus, reported = EventBus(), []

    async def on_payload(payload: Any, model: Any) -> Any:
        return {"first": 1}

    async def on_response(status: int, headers: Any, model: Any) -> None:
        reported.append(status)

    subscribe(bus, "before_provider_request", lambda event, ctx: reported.append(event.payload))
    request = ModelRequest(model=MODEL, messages=())
    call = replace(
        request,
        options=replace(request.options, on_payload=on_payload, on_response=on_response),
    )
    options = with_provider_events(call, bus).options

    assert options.on_payload is not None
    assert options.on_response is not None
    assert await options.on_payload({}, MODEL) == {"first": 1}
    await options.on_response(429, {}, MODEL)
    assert reported == [{"first": 1}, 429]


def test_without_handlers_the_request_is_unchanged() -> None:
    request = ModelRequest(model=MODEL, messages=())

    assert with_provider_events(request, EventBus()) is request

"""What goes over the wire, shown to handlers: headers, payload, and how the answer begins."""

from __future__ import annotations

from collections.abc import Mapping

from pi.ai.messages import Json
from pi.ai.models.model import Model
from pi.base.records import replace
from pi.coding.extension_host.hooks import Hooks
from pi.coding.extension_host.model_wraps import ModelRequest
from pi.coding.extension_host.run_events import (
    AfterProviderResponseEvent,
    BeforeProviderHeadersEvent,
    BeforeProviderRequestEvent,
)

_KINDS = (BeforeProviderHeadersEvent, BeforeProviderRequestEvent, AfterProviderResponseEvent)


def watched(request: ModelRequest, hooks: Hooks) -> ModelRequest:
    """``request``, with handlers asked before it is sent and told when it is answered."""
    if not any(map(hooks.heard, _KINDS)):
        return request
    options = request.options
    headers: dict[str, str | None] = {**(request.model.headers or {}), **(options.headers or {})}

    async def on_payload(payload: Json, model: Model) -> Json:
        if options.on_payload is not None:
            payload = await options.on_payload(payload, model) or payload
        # Changed in place: wires put the headers together after they have asked for the payload.
        await hooks.tell(BeforeProviderHeadersEvent(headers=headers))
        return (await hooks.ask(BeforeProviderRequestEvent(payload=payload))).payload

    async def on_response(status: int, headers: Mapping[str, str], model: Model) -> None:
        if options.on_response is not None:
            await options.on_response(status, headers, model)
        await hooks.tell(AfterProviderResponseEvent(status=status, headers=dict(headers)))

    return replace(
        request,
        options=replace(options, headers=headers, on_payload=on_payload, on_response=on_response),
    )

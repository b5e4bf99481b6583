"""Sends a call to ``POST /responses``: shared by the variants."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from pi.ai.builder import MessageBuilder
from pi.ai.event_stream import Flush
from pi.ai.messages import Json
from pi.ai.request import Call
from pi.ai.wire.openai_responses.compat import read_compat
from pi.ai.wire.openai_responses.repairs import next_repair
from pi.ai.wire.openai_responses.request import changing_level, text_arguments_of
from pi.ai.wire_support.exchange import Services, send
from pi.ai.wire_support.repairs import (
    Repairs,
    send_with_repairs,
)
from pi.base.records import Record

if TYPE_CHECKING:
    # Lazy: loaded while the server answers.
    from pi.ai.wire.openai_responses.response import ResponsesDecoder


class ResponsesCall(Record, kw_only=False):
    """One call, with the builder of its response."""

    call: Call
    builder: MessageBuilder
    flush: Flush
    services: Services

    async def ask(
        self,
        *,
        encode: Callable[[Repairs], Json],
        deliver: Callable[[Json], Awaitable[None]],
    ) -> None:
        """Encode and send; each repair is tried once and noted."""
        if (level := changing_level(self.call, read_compat(self.call.model))) is not None:
            self.builder.thinking_level = level
        await send_with_repairs(
            self.call,
            self.builder,
            self.services.clock,
            encode=encode,
            deliver=deliver,
            next_repair=next_repair,
        )

    async def post(self, payload: Json, *, url: str, headers: Mapping[str, str]) -> None:
        """Send over HTTP, and decode the events of the response."""
        await send(
            self.call,
            payload,
            url=url,
            headers=headers,
            decoder=self.decoder,
            builder=self.builder,
            flush=self.flush,
            services=self.services,
        )

    def decoder(self) -> ResponsesDecoder:
        """Return the decoder of the response."""
        from pi.ai.wire.openai_responses.response import ResponsesDecoder

        return ResponsesDecoder(self.builder, text_arguments_of(self.call))

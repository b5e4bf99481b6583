"""Asking, and asking again without what the server refused: the rim that the variants share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from pi.ai.builder import MessageBuilder
from pi.ai.diagnostics import Repairs
from pi.ai.exchange import Services, send
from pi.ai.messages import Json
from pi.ai.repairing import ask_with_repairs
from pi.ai.request import Call
from pi.ai.stream import Flush
from pi.ai.wire.openai_responses.repairs import next_repair
from pi.ai.wire.openai_responses.request import text_arguments_of
from pi.base.records import Record

if TYPE_CHECKING:
    from pi.ai.wire.openai_responses.response import ResponsesDecoder


class Asking(Record, kw_only=False):
    """One call, and where its answer goes."""

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
        """Encode and deliver; each repair that a refusal asks for is tried once and noted."""
        await ask_with_repairs(
            self.call,
            self.builder,
            self.services.clock,
            encode=encode,
            deliver=deliver,
            next_repair=next_repair,
        )

    async def post(self, payload: Json, *, url: str, headers: Mapping[str, str]) -> None:
        """Deliver over HTTP, and read the events of the answer."""
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
        """What understands the answer."""
        from pi.ai.wire.openai_responses.response import ResponsesDecoder

        return ResponsesDecoder(self.builder, text_arguments_of(self.call))

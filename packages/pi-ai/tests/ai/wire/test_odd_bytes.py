"""All wires read JSON with the same tolerance for invalid bytes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.ai.wire.conformance import WIRES, call_of, model_of
from tests.ai.wire.fuzz import MemoryResponse, decode, load


async def received_text(api: str, find: bytes, put: bytes) -> str:
    """The text of the greeting if ``find`` is replaced by ``put`` in the JSON of its events."""
    recorded = next(recorded for recorded in load([api]) if recorded.case == "text")
    framing = recorded.framing
    events = [
        replace(event, payload=event.payload.replace(find, put))
        for event in framing.split(recorded.body)
    ]
    response = MemoryResponse(recorded.status, recorded.headers, [framing.join(events)])
    message = await decode(call_of(model_of(api, "http://127.0.0.1:1")), response)
    assert message.stop_reason == "stop", message.error_message
    return message.text


@pytest.mark.parametrize("api", WIRES)
@pytest.mark.parametrize(
    ("sent", "read"),
    [(b"\xff", "�"), (b"\\ud83d", ""), (b"\x01", "\x01")],
    ids=["no UTF-8", "half a surrogate pair", "raw control character"],
)
async def test_an_invalid_byte_does_not_lose_the_answer(api: str, sent: bytes, read: str) -> None:
    text = await received_text(api, b'"Hel', b'"Hel' + sent)

    assert text == f"Hel{read}lo, wörld! 👋"

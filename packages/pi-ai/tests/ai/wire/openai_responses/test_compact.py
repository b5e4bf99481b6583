"""The server's own compaction, over HTTP."""

from __future__ import annotations

import json

import pytest

from pi.ai.messages import Json, Thinking
from pi.ai.request import StreamOptions
from pi.base.records import replace
from tests.ai.wire.openai_responses.talk import call, system, user
from tests.ai.wire.openai_responses.test_asking import asked, refusal, server

ITEM = {"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAA"}


def response(body: Json) -> bytes:
    content = json.dumps(body).encode()
    return f"HTTP/1.1 200 OK\r\ncontent-length: {len(content)}\r\n\r\n".encode() + content


async def test_the_conversation_is_sent_and_the_compaction_item_is_returned() -> None:
    made = response(
        {
            "object": "response.compaction",
            "output": [{"type": "message", "role": "user", "content": []}, ITEM],
            "usage": {"input_tokens": 9, "output_tokens": 2, "total_tokens": 11},
        }
    )
    asking = replace(call(system("be brief"), user("hello")), options=StreamOptions(compact=True))
    async with server(made) as (url, bodies):
        message, _ = await asked(asking, url)

    (block,) = message.content
    assert isinstance(block, Thinking)
    assert json.loads(str(block.thinking_signature)) == ITEM
    assert (message.stop_reason, message.usage.input, message.usage.output) == ("stop", 9, 2)
    assert set(bodies[0]) <= {"model", "input", "instructions", "prompt_cache_key"}
    assert "hello" in str(bodies[0]["input"])


@pytest.mark.parametrize("answer", [refusal({"message": "no such path"}), response({"output": []})])
async def test_a_failed_compaction_ends_the_stream_with_an_error(answer: bytes) -> None:
    asking = replace(call(user("hello")), options=StreamOptions(compact=True))
    async with server(answer) as (url, _):
        message, _ = await asked(asking, url)

    assert message.stop_reason == "error"

"""``POST …/responses/compact``: the server compacts a conversation into encrypted items.

The answer lists the user's messages and one item of the type ``compaction``. Only that item is
kept: the messages are in the text summary, which other providers need anyway.
"""

from __future__ import annotations

import msgspec

from pi.ai.builder import MessageBuilder
from pi.ai.errors import BadAnswer
from pi.ai.http.errors import HttpError
from pi.ai.http.request import HttpRequest
from pi.ai.json_text import json_bytes, json_text
from pi.ai.messages import Json
from pi.ai.request import Call
from pi.ai.wire.openai_responses import codex, request
from pi.ai.wire.openai_responses.response import read_usage
from pi.ai.wire_support.exchange import (
    Services,
    apply_payload_hook,
    final_headers,
    timeouts,
)
from pi.base.records import UNREADABLE

LARGEST = 32 * 1024 * 1024
"""Bytes of an answer."""
FIELDS = ("model", "input", "instructions", "prompt_cache_key")
"""Fields of a usual request that the endpoint accepts."""


async def compact(call: Call, builder: MessageBuilder, services: Services) -> None:
    """Send the conversation, and put the items of the answer into ``builder``."""
    is_codex = call.model.api == "openai-codex-responses"
    variant = codex if is_codex else request
    body = {name: value for name, value in variant.encode(call).items() if name in FIELDS}
    sent = HttpRequest(
        method="POST",
        url=f"{variant.url(call)}/compact",
        headers=final_headers(call, {**variant.headers(call), "accept": "application/json"}),
        body=json_bytes(await apply_payload_hook(call, body)),
        timeouts=timeouts(call, services.environ),
    )
    # Imported with the first request of this kind: classification is for failures only.
    from pi.ai.failures.classify import from_http, from_status

    try:
        answer = await services.http.request(sent, limit=LARGEST)
    except HttpError as error:
        raise from_http(error) from error
    if not 200 <= answer.status < 300:
        raise from_status(answer.status, answer.headers, answer.body, services.clock)
    items, usage = decode(answer.body)
    builder.start()
    for number, item in enumerate(items):
        block = builder.thinking(number, "")
        block.signature = json_text(item)
        builder.end(number)
    builder.usage = read_usage(usage)
    builder.finish("stop")


def decode(body: bytes) -> tuple[list[Json], Json]:
    """Return the items to keep and the token counts; raises ``BadAnswer`` without an item."""
    try:
        answer = msgspec.json.decode(body, type=Json)
    except UNREADABLE as error:
        raise BadAnswer("The server's compaction is not JSON.") from error
    output, usage = answer.get("output"), answer.get("usage")
    items = [
        {name: item[name] for name in ("type", "id", "encrypted_content") if item.get(name)}
        for item in (output if isinstance(output, list) else ())
        if isinstance(item, dict)
        and item.get("type") in ("compaction", "compaction_summary")
        and isinstance(item.get("encrypted_content"), str)
    ]
    if not items:
        raise BadAnswer("The server's compaction holds no compaction item.")
    return items, usage if isinstance(usage, dict) else {}

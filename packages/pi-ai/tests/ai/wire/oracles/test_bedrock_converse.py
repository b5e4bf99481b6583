from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from typing import Any

import pytest

from pi.ai.messages import Json
from tests.ai.wire.oracles.understanding import (
    ReadCall,
    Understood,
    every_case,
    ours,
    replayed,
)

pytestmark = pytest.mark.full  # importing the SDK alone takes seconds

API = "bedrock-converse-stream"
STOPS = {"end_turn": "stop", "max_tokens": "length", "tool_use": "toolUse"}


async def theirs(case: str) -> Understood:
    """Decode the recording with botocore and its event-stream parser."""
    botocore = pytest.importorskip(
        "botocore.session", reason="botocore is not installed; not tested: our Bedrock beside it"
    )

    def ask(url: str) -> list[Json]:
        client = botocore.Session().create_client(
            "bedrock-runtime",
            region_name="us-east-1",
            endpoint_url=url,
            aws_access_key_id="ID",
            aws_secret_access_key="SECRET",
        )
        try:
            message = {"role": "user", "content": [{"text": "hi"}]}
            return list(client.converse_stream(modelId="test-model", messages=[message])["stream"])
        finally:
            client.close()

    async with replayed(API, case) as url:
        events = await asyncio.to_thread(ask, url)
    deltas = _all(events, "contentBlockDelta")
    (usage,) = (metadata["usage"] for metadata in _all(events, "metadata"))
    (stop,) = _all(events, "messageStop")
    return Understood(
        text="".join(delta["delta"].get("text", "") for delta in deltas),
        thinking="".join(
            delta["delta"].get("reasoningContent", {}).get("text", "") for delta in deltas
        ),
        calls=_calls(_all(events, "contentBlockStart"), deltas),
        input=usage["inputTokens"],
        output=usage["outputTokens"],
        cache_read=usage["cacheReadInputTokens"],
        cache_write=usage["cacheWriteInputTokens"],
        stop=STOPS[stop["stopReason"]],
    )


def _all(events: list[Json], kind: str) -> list[Any]:
    return [event[kind] for event in events if kind in event]


def _calls(starts: list[Json], deltas: list[Json]) -> tuple[ReadCall, ...]:
    arguments: dict[int, str] = defaultdict(str)
    for delta in deltas:
        arguments[delta["contentBlockIndex"]] += delta["delta"].get("toolUse", {}).get("input", "")
    return tuple(
        ReadCall(
            id=start["start"]["toolUse"]["toolUseId"],
            name=start["start"]["toolUse"]["name"],
            arguments=json.loads(arguments[start["contentBlockIndex"]]),
        )
        for start in starts
    )


@every_case
async def test_responses_are_read_as_botocore_reads_them(case: str) -> None:
    assert await ours(API, case) == await theirs(case)

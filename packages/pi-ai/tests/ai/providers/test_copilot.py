from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from pi.ai.builder import MessageBuilder
from pi.ai.event_stream import EventStream, Flush
from pi.ai.http.client import HttpClient
from pi.ai.messages import AssistantMessage, Image, Message, Text, ToolResultMessage, UserMessage
from pi.ai.models.catalog import bundled_models
from pi.ai.providers.rows import BUILT_IN
from pi.ai.providers.wire_provider import CopilotProvider, request_headers
from pi.ai.request import Access, Call, StreamOptions
from pi.ai.wire_support.exchange import Services
from pi.base.records import replace
from pi.base.testing import FakeClock
from tests.ai.loopback import site

GOLDEN = Path(__file__).parents[1] / "wire" / "golden" / "payloads-by-provider.jsonl"
PNG = Image(data="AA==", mime_type="image/png")
CONVERSATION: tuple[Message, ...] = (
    UserMessage(content=(Text(text="first"), PNG)),
    AssistantMessage(content=(Text(text="calling"),)),
    UserMessage(content="next"),
)
IDENTITY = (
    "authorization",
    "copilot-integration-id",
    "copilot-vision-request",
    "editor-plugin-version",
    "editor-version",
    "openai-intent",
    "user-agent",
    "x-initiator",
)


def recorded(api: str) -> dict[str, str]:
    rows = map(json.loads, GOLDEN.read_text(encoding="utf-8").splitlines())
    (row, _) = (r for r in rows if (r["provider"], r["api"]) == ("github-copilot", api))
    return {name: row["headers"][name] for name in IDENTITY}


@pytest.mark.parametrize("api", ["openai-responses", "anthropic-messages", "openai-completions"])
async def test_requests_carry_the_recorded_identity(api: str) -> None:
    (row,) = (row for row in BUILT_IN if row.id == "github-copilot")
    provider = CopilotProvider(row, partial(bundled_models, row.id))
    model = next(model for model in provider.models() if model.api == api)
    async with site({}) as server, HttpClient(environ={}) as http:
        call = Call(
            model=replace(model, base_url=server.url),
            messages=CONVERSATION,
            options=StreamOptions(max_tokens=100),
            access=Access(api_key="<KEY>", kind="oauth"),
        )

        async def answer(builder: MessageBuilder, flush: Flush) -> None:
            services = Services(http=http, clock=FakeClock(), environ={})
            await provider.answer(call, builder, flush, services)

        await EventStream(MessageBuilder(model, now_ms=0), answer).result()

    sent = server.asked[0][2]
    assert {name: sent[name] for name in IDENTITY} == recorded(api)


def test_the_initiator_is_agent_after_a_tool_result_and_without_messages() -> None:
    result = ToolResultMessage(tool_call_id="c", tool_name="t", content=(Text(text="R"),))

    assert request_headers((UserMessage(content="hi"), result)) == {
        "Openai-Intent": "conversation-edits",
        "X-Initiator": "agent",
    }
    assert request_headers(()) == {
        "Openai-Intent": "conversation-edits",
        "X-Initiator": "agent",
    }

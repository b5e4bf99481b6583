"""An answer of each provider, the golden request, and what the answer means.

The forms are those that the providers document; the contents are invented.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from typing import Any

from pi.batteries.web_search.providers.model_answers import INSTRUCTIONS
from pi.batteries.web_search.search import Account, Query
from tests.batteries.web_search.search_server import Answer

QUERY = Query(query="asyncio timeout ü?", recency="week", today="2026-11-17")
ENCODED = "asyncio+timeout+%C3%BC%3F"
PAGE, OTHER = "https://docs.example/timeout", "https://blog.example/post"
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}


@dataclass
class Sample:
    """A provider against a loopback server."""

    name: str
    request: dict[str, Any]
    """Method, path, body, and the headers that matter."""
    answer: Answer
    empty: Answer
    sources: list[str]
    text: str = ""
    """The answer that is expected."""
    account: Account = field(default_factory=lambda: Account(key="k-1"))
    details: dict[str, Any] = field(default_factory=dict)
    streams: bool = False


def post(path: str, body: dict[str, Any], **headers: str) -> dict[str, Any]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return {"method": "POST", "path": path, "body": body, "headers": named}


def get(path: str, **headers: str) -> dict[str, Any]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return {"method": "GET", "path": path, "headers": named}


BEARER = {"authorization": "Bearer k-1"}
MESSAGES = [
    {"role": "system", "content": INSTRUCTIONS},
    {"role": "user", "content": QUERY.query},
]
KIMI_REQUEST = {
    "model": "kimi-k2.6",
    "messages": [
        {"role": "system", "content": f"{INSTRUCTIONS}\nCite as Markdown links."},
        {"role": "user", "content": QUERY.query},
    ],
    "tools": [{"type": "builtin_function", "function": {"name": "$web_search"}}],
    "thinking": {"type": "disabled"},
}
EXA_TEXT = f"""Title: Timeouts
URL: {PAGE}
Published Date: 2026-11-10T00:00:00.000Z
Author: N/A
Text: Use asyncio.timeout.
It cancels the task.

Title: A post
URL: {OTHER}
Text: How it works."""
ZAI_ROWS = [{"title": "Timeouts", "link": PAGE}]
CODEX_ITEM = {
    "type": "message",
    "content": [
        {
            "type": "output_text",
            "text": "Use asyncio.timeout.",
            "annotations": [
                {"type": "url_citation", "url": PAGE, "title": "Timeouts"},
                {"type": "file_citation", "url": "https://no.example"},
            ],
        }
    ],
}

SAMPLES = [
    Sample(
        name="tavily",
        request=post(
            "/search",
            {
                "query": QUERY.query,
                "max_results": 5,
                "search_depth": "basic",
                "include_answer": "advanced",
                "time_range": "week",
            },
            **BEARER,
        ),
        answer=Answer(
            body={
                "answer": "Use asyncio.timeout.",
                "request_id": "r-1",
                "results": [
                    {"title": "Timeouts", "url": PAGE, "content": "Since 3.11.", "score": 0.9},
                    {"title": "Again", "url": PAGE},
                    {"title": "No address"},
                    {"title": "Script", "url": "javascript:alert(1)"},
                ],
            }
        ),
        empty=Answer(body={"answer": None, "results": []}),
        sources=[PAGE],
        text="Use asyncio.timeout.",
        details={"requestId": "r-1", "authMode": "api_key"},
    ),
    Sample(
        name="perplexity",
        request=post(
            "/chat/completions",
            {
                "model": "sonar-pro",
                "messages": MESSAGES,
                "search_mode": "web",
                "num_search_results": 20,
                "max_tokens": 8192,
                "temperature": 0.2,
                "stream": True,
                "search_recency_filter": "week",
            },
            **BEARER,
        ),
        answer=Answer(
            events=[
                {"id": "p-1", "model": "sonar-pro", "choices": [{"delta": {"content": "Use "}}]},
                {
                    "id": "p-1",
                    "choices": [{"delta": {"content": "timeout."}, "finish_reason": "stop"}],
                    "citations": [PAGE],
                    "search_results": [{"title": "Timeouts", "url": PAGE, "date": "2026-11-10"}],
                    "usage": {"prompt_tokens": 7, "completion_tokens": 3},
                },
                "[DONE]",
            ]
        ),
        empty=Answer(events=[{"choices": [{"delta": {}, "finish_reason": "stop"}]}]),
        sources=[PAGE],
        text="Use timeout.",
        details={"model": "sonar-pro", "usage": {"inputTokens": 7, "outputTokens": 3}},
        streams=True,
    ),
    Sample(
        name="brave",
        request=get(
            f"/res/v1/web/search?q={ENCODED}&count=10&extra_snippets=true&freshness=pw",
            x_subscription_token="k-1",
        ),
        answer=Answer(
            headers={"X-Request-Id": "b-1"},
            body={
                "web": {
                    "results": [
                        {
                            "title": "Timeouts",
                            "url": PAGE,
                            "description": "Since 3.11.",
                            "extra_snippets": ["More."],
                            "page_age": "2026-11-10T00:00:00",
                        },
                        {"title": "A post", "url": OTHER, "age": "3 days ago"},
                    ]
                }
            },
        ),
        empty=Answer(body={"type": "search"}),
        sources=[PAGE, OTHER],
        details={"requestId": "b-1"},
    ),
    Sample(
        name="jina",
        request=get("/asyncio%20timeout%20%C3%BC%3F", accept="application/json", **BEARER),
        answer=Answer(
            body={"code": 200, "data": [{"title": "Timeouts", "url": PAGE, "description": "Yes."}]}
        ),
        empty=Answer(body={"code": 200, "data": []}),
        sources=[PAGE],
    ),
    Sample(
        name="kimi",
        request=post("/chat/completions", KIMI_REQUEST, **BEARER),
        answer=Answer(
            body={
                "id": "c-2",
                "model": "kimi-k2.6",
                "choices": [
                    {
                        "finish_reason": "stop",
                        "message": {"role": "assistant", "content": f"See [Docs]({PAGE})."},
                    }
                ],
                "usage": {"prompt_tokens": 9, "completion_tokens": 2},
            }
        ),
        empty=Answer(body={"choices": [{"finish_reason": "stop", "message": {"content": ""}}]}),
        sources=[PAGE],
        text=f"See [Docs]({PAGE}).",
        details={"requestId": "c-2", "usage": {"inputTokens": 9, "outputTokens": 2}},
    ),
    Sample(
        name="anthropic",
        request=post(
            "/v1/messages",
            {
                "model": "claude-haiku-4-5",
                "max_tokens": 4096,
                "system": INSTRUCTIONS,
                "messages": [{"role": "user", "content": QUERY.query}],
                "tools": [{"type": "web_search_20250305", "name": "web_search"}],
            },
            x_api_key="k-1",
            anthropic_version="2023-06-01",
        ),
        answer=Answer(
            body={
                "id": "msg_1",
                "model": "claude-haiku-4-5",
                "content": [
                    {"type": "server_tool_use", "input": {"query": "asyncio timeout"}},
                    {
                        "type": "web_search_tool_result",
                        "content": [
                            {
                                "type": "web_search_result",
                                "url": PAGE,
                                "title": "Timeouts",
                                "page_age": "3 days ago",
                            }
                        ],
                    },
                    {"type": "text", "text": "Use "},
                    {
                        "type": "text",
                        "text": "asyncio.timeout.",
                        "citations": [{"url": PAGE, "title": "Timeouts", "cited_text": "Since…"}],
                    },
                ],
                "usage": {
                    "input_tokens": 9,
                    "output_tokens": 4,
                    "server_tool_use": {"web_search_requests": 1},
                },
            }
        ),
        empty=Answer(body={"content": []}),
        sources=[PAGE],
        text="Use asyncio.timeout.",
        details={
            "searchQueries": ["asyncio timeout"],
            "citations": [{"url": PAGE, "title": "Timeouts", "text": "Since…"}],
            "usage": {"inputTokens": 9, "outputTokens": 4, "searchRequests": 1},
        },
    ),
    Sample(
        name="gemini",
        request=post(
            "/models/gemini-flash-latest:streamGenerateContent?alt=sse",
            {
                "systemInstruction": {"parts": [{"text": INSTRUCTIONS}]},
                "contents": [{"role": "user", "parts": [{"text": QUERY.query}]}],
                "tools": [{"googleSearch": {}}],
            },
            x_goog_api_key="k-1",
        ),
        answer=Answer(
            events=[
                {"candidates": [{"content": {"parts": [{"text": "hm", "thought": True}]}}]},
                {"candidates": [{"content": {"parts": [{"text": "Use timeout."}]}}]},
                {
                    "modelVersion": "gemini-3-flash",
                    "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 2},
                    "candidates": [
                        {
                            "finishReason": "STOP",
                            "groundingMetadata": {
                                "webSearchQueries": ["asyncio timeout"],
                                "groundingChunks": [{"web": {"uri": PAGE, "title": "Timeouts"}}],
                                "groundingSupports": [
                                    {
                                        "segment": {"text": "Use timeout."},
                                        "groundingChunkIndices": [0, 7],
                                    }
                                ],
                            },
                        }
                    ],
                },
            ]
        ),
        empty=Answer(events=[{"candidates": [{"finishReason": "STOP"}]}]),
        sources=[PAGE],
        text="Use timeout.",
        details={
            "citations": [{"url": PAGE, "title": "Timeouts", "text": "Use timeout."}],
            "model": "gemini-3-flash",
        },
        streams=True,
    ),
    Sample(
        name="codex",
        request=post(
            "/codex/responses",
            {
                "model": "gpt-5.5",
                "instructions": INSTRUCTIONS,
                "input": [
                    {
                        "type": "message",
                        "role": "user",
                        "content": [{"type": "input_text", "text": QUERY.query}],
                    }
                ],
                "tools": [{"type": "web_search", "search_context_size": "high"}],
                "tool_choice": {"type": "web_search"},
                "stream": True,
                "store": False,
            },
            chatgpt_account_id="acc-1",
            **BEARER,
        ),
        answer=Answer(
            events=[
                {"type": "response.created"},
                {
                    "type": "response.output_item.done",
                    "item": {"type": "web_search_call", "action": {"query": "asyncio timeout"}},
                },
                {"type": "response.output_item.done", "item": CODEX_ITEM},
                {
                    "type": "response.completed",
                    "response": {
                        "id": "resp_1",
                        "model": "gpt-5.5",
                        "usage": {"input_tokens": 11, "output_tokens": 6},
                    },
                },
            ]
        ),
        empty=Answer(events=[{"type": "response.completed", "response": {"id": "resp_1"}}]),
        sources=[PAGE],
        text="Use asyncio.timeout.",
        account=Account(key="k-1", kind="oauth", options={"accountId": "acc-1"}),
        details={"requestId": "resp_1", "authMode": "oauth"},
        streams=True,
    ),
    Sample(
        name="zai",
        request=post(
            "/api/mcp/web_search_prime/mcp",
            CALL
            | {
                "params": {
                    "name": "web_search_prime",
                    "arguments": {"query": QUERY.query, "count": 10},
                }
            },
            accept="application/json, text/event-stream",
            **BEARER,
        ),
        answer=Answer(
            events=[
                {
                    "jsonrpc": "2.0",
                    "id": 1,
                    "result": {
                        "content": [
                            {
                                "type": "text",
                                "text": json.dumps(json.dumps(ZAI_ROWS)),
                            }
                        ]
                    },
                }
            ]
        ),
        empty=Answer(body={"jsonrpc": "2.0", "id": 1, "result": {"content": []}}),
        sources=[PAGE],
        streams=True,
    ),
    Sample(
        name="exa",
        request=post(
            "/search",
            {
                "query": QUERY.query,
                "numResults": 10,
                "type": "auto",
                "contents": {"summary": {"query": QUERY.query}},
            },
            x_api_key="k-1",
        ),
        answer=Answer(
            body={
                "requestId": "e-1",
                "results": [
                    {"title": "Timeouts", "url": PAGE, "summary": "One.", "author": "Ada"},
                    {"title": "A post", "url": OTHER, "summary": "Two."},
                ],
            }
        ),
        empty=Answer(body={"results": []}),
        sources=[PAGE, OTHER],
        text="One.\n\nTwo.",
        details={"requestId": "e-1"},
    ),
    Sample(
        name="parallel",
        request=post(
            "/v1beta/search",
            {
                "objective": QUERY.query,
                "search_queries": [QUERY.query],
                "mode": "fast",
                "max_results": 10,
                "max_chars_per_result": 10_000,
            },
            x_api_key="k-1",
            parallel_beta="search-extract-2025-10-10",
        ),
        answer=Answer(
            body={
                "search_id": "s-1",
                "results": [
                    {"title": "Timeouts", "url": PAGE, "excerpts": ["One.", "Two."]},
                ],
            }
        ),
        empty=Answer(body={"results": []}),
        sources=[PAGE],
        details={"requestId": "s-1"},
    ),
    Sample(
        name="kagi",
        request=post(
            "/api/v1/search",
            {
                "query": QUERY.query,
                "workflow": "search",
                "limit": 10,
                "filters": {"after": "2026-11-10"},
            },
            **BEARER,
        ),
        answer=Answer(
            body={
                "meta": {"trace": "t-1"},
                "data": {
                    "search": [{"title": "Timeouts", "url": PAGE, "snippet": "Since 3.11."}],
                    "video": [{"title": "Talk", "url": OTHER}],
                    "direct_answer": [{"title": "asyncio.timeout"}],
                    "adjacent_question": [{"props": {"question": "And wait_for?"}}],
                },
            }
        ),
        empty=Answer(body={"data": {}}),
        sources=[PAGE, OTHER],
        text="asyncio.timeout",
        details={"requestId": "t-1", "relatedQuestions": ["And wait_for?"]},
    ),
    Sample(
        name="synthetic",
        request=post("/v2/search", {"query": QUERY.query}, **BEARER),
        answer=Answer(
            body={"results": [{"title": "Timeouts", "url": PAGE, "text": "Since 3.11."}]}
        ),
        empty=Answer(body={"results": []}),
        sources=[PAGE],
    ),
    Sample(
        name="searxng",
        request=get(
            f"/search?format=json&q={ENCODED}&time_range=month&categories=it",
            authorization=f"Basic {base64.b64encode(b'me:pw').decode()}",
        ),
        answer=Answer(
            body={
                "results": [{"title": "Timeouts", "url": PAGE, "content": "Since 3.11."}],
                "suggestions": ["asyncio wait_for"],
            }
        ),
        empty=Answer(body={"results": [], "suggestions": ["x"]}),
        sources=[PAGE],
        account=Account(key="me:pw", kind="basic", options={"categories": "it"}),
        details={"relatedQuestions": ["asyncio wait_for"]},
    ),
]
BY_NAME = {sample.name: sample for sample in SAMPLES}

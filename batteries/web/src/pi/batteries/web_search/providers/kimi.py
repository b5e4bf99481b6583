"""Kimi with its search tool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pi.batteries.web_search.json_values import (
    numbers_at,
    object_of,
    rows_at,
    text_at,
    unique_sources,
    value_at,
)
from pi.batteries.web_search.providers.model_answers import INSTRUCTIONS, linked_sources
from pi.batteries.web_search.search import (
    Account,
    Provider,
    Query,
    SearchCall,
    SearchReply,
    SearchResponse,
)

KIMI_MODEL = "kimi-k2.6"
KIMI_TOOL = "$web_search"
MAX_KIMI_SEARCHES = 5
"""Maximum of searches for one question; then the answer is requested without the tool."""


def _ask_kimi(query: Query, account: Account) -> Sequence[SearchCall]:
    body: dict[str, Any] = {
        "model": KIMI_MODEL,
        "messages": [
            # The answer has no list of pages: sources are taken from the links in its text.
            {"role": "system", "content": f"{INSTRUCTIONS}\nCite as Markdown links."},
            {"role": "user", "content": query.query},
        ],
        "tools": [{"type": "builtin_function", "function": {"name": KIMI_TOOL}}],
        "thinking": {"type": "disabled"},  # the tool requires it
    }
    if query.max_tokens:
        body["max_tokens"] = query.max_tokens
    base = account.base_url or "https://api.moonshot.ai/v1"
    headers = {"Authorization": f"Bearer {account.key}"}
    return [SearchCall(url=f"{base}/chat/completions", headers=headers, body=body)]


def _follow_kimi(call: SearchCall, reply: SearchReply) -> SearchCall | None:
    """The request for the answer after the model has searched; ``None`` if it has answered.

    The server has searched already. The arguments of the tool call are the result, in a form that
    only the server can read: they are sent back unchanged.
    """
    choice = value_at(reply.body, "choices", 0)
    used = rows_at(choice, "message", "tool_calls")
    has_searched = text_at(choice, "finish_reason") == "tool_calls" and bool(used)
    if not has_searched or "tools" not in call.body:
        return None
    results = [
        {
            "role": "tool",
            "tool_call_id": text_at(call, "id"),
            "name": text_at(call, "function", "name"),
            "content": text_at(call, "function", "arguments"),
        }
        for call in used
    ]
    message = {**value_at(choice, "message"), "role": "assistant"}
    body = {**call.body, "messages": [*call.body["messages"], message, *results]}
    if sum(message["role"] == "tool" for message in body["messages"]) >= MAX_KIMI_SEARCHES:
        del body["tools"]
    return SearchCall(url=call.url, headers=call.headers, body=body)


def _read_kimi(reply: SearchReply, query: Query, account: Account) -> SearchResponse:
    body = object_of("kimi", reply.body)
    answer = text_at(body, "choices", 0, "message", "content").strip()
    return SearchResponse(
        provider="kimi",
        answer=answer,
        sources=unique_sources(linked_sources(answer), query.count(10, 20)),
        usage=numbers_at(
            body.get("usage"), inputTokens="prompt_tokens", outputTokens="completion_tokens"
        ),
        model=text_at(body, "model"),
        request_id=text_at(body, "id"),
    )


KIMI = Provider(name="kimi", label="Kimi", calls=_ask_kimi, parse=_read_kimi, follow=_follow_kimi)

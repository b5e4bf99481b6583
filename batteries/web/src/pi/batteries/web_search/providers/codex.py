"""Codex with its search tool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pi.batteries.web_search.json_values import (
    numbers_at,
    rows_at,
    text_at,
    unique_sources,
    value_at,
)
from pi.batteries.web_search.providers.model_answers import (
    INSTRUCTIONS,
    check_finished,
    decode_events,
    linked_sources,
)
from pi.batteries.web_search.search import (
    Account,
    Provider,
    Query,
    SearchCall,
    SearchFailed,
    SearchReply,
    SearchResponse,
    Source,
)


def _ask_codex(query: Query, account: Account) -> Sequence[SearchCall]:
    body = {
        "model": account.options.get("model") or "gpt-5.5",
        "instructions": INSTRUCTIONS,
        "input": [
            {
                "type": "message",
                "role": "user",
                "content": [{"type": "input_text", "text": query.query}],
            }
        ],
        "tools": [{"type": "web_search", "search_context_size": "high"}],
        "tool_choice": {"type": "web_search"},
        "stream": True,
        "store": False,
    }
    headers = {
        "Authorization": f"Bearer {account.key}",
        "chatgpt-account-id": account.options.get("accountId", ""),
        "originator": "pi",
        "openai-beta": "responses=experimental",
    }
    base = account.base_url or "https://chatgpt.com/backend-api"
    return [SearchCall(url=f"{base.rstrip('/')}/codex/responses", headers=headers, body=body)]


def _read_codex(reply: SearchReply, query: Query, account: Account) -> SearchResponse:
    texts, sources, queries = list[str](), list[Source](), list[str]()
    response: Any = None
    for event in decode_events("codex", reply):
        match event.get("type"):
            case "response.output_item.done":
                item = value_at(event, "item")
                if query_text := text_at(item, "action", "query"):
                    queries.append(query_text)
                for part in rows_at(item, "content"):
                    texts.append(text_at(part, "text"))
                    sources += [
                        Source(title=text_at(note, "title"), url=text_at(note, "url"))
                        for note in rows_at(part, "annotations")
                        if note.get("type") == "url_citation"
                    ]
            case "response.completed" | "response.incomplete":
                response = value_at(event, "response")
            case "response.failed" | "error":
                raise _codex_failure(event)
            case _:
                continue
    check_finished("codex", finished=response is not None)
    answer = "\n\n".join(filter(None, texts)).strip()
    return SearchResponse(
        provider="codex",
        answer=answer,
        sources=unique_sources(sources or linked_sources(answer), query.result_count),
        search_queries=tuple(queries),
        usage=numbers_at(
            value_at(response, "usage"), inputTokens="input_tokens", outputTokens="output_tokens"
        ),
        model=text_at(response, "model"),
        request_id=text_at(response, "id"),
        auth_mode="oauth",
    )


def _codex_failure(event: Mapping[str, Any]) -> SearchFailed:
    reason = text_at(event, "response", "error", "message") or text_at(event, "message")
    return SearchFailed("codex", f"Codex could not search: {reason or 'no reason is stated'}.")


CODEX = Provider(name="codex", label="Codex", calls=_ask_codex, parse=_read_codex)

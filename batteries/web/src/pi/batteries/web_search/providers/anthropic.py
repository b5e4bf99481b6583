"""Claude with its search tool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pi.batteries.web_search.json_values import (
    numbers_at,
    object_of,
    rows_at,
    text_at,
    unique_sources,
    value_at,
)
from pi.batteries.web_search.providers.model_answers import INSTRUCTIONS
from pi.batteries.web_search.search import (
    Account,
    Citation,
    Provider,
    Query,
    SearchCall,
    SearchReply,
    SearchResponse,
    Source,
)

DEFAULT_MAX_TOKENS = 4096


def _ask_anthropic(query: Query, account: Account) -> Sequence[SearchCall]:
    body: dict[str, Any] = {
        "model": account.options.get("model") or "claude-haiku-4-5",
        "max_tokens": query.max_tokens or DEFAULT_MAX_TOKENS,
        "system": INSTRUCTIONS,
        "messages": [{"role": "user", "content": query.query}],
        "tools": [{"type": "web_search_20250305", "name": "web_search"}],
    }
    if query.temperature is not None:
        body["temperature"] = query.temperature
    headers = {"anthropic-version": "2023-06-01"}
    if account.kind == "oauth":
        headers |= {"Authorization": f"Bearer {account.key}", "anthropic-beta": "oauth-2025-04-20"}
    else:
        headers["x-api-key"] = account.key
    base = account.base_url or "https://api.anthropic.com"
    return [SearchCall(url=f"{base.rstrip('/')}/v1/messages", headers=headers, body=body)]


def _read_anthropic(reply: SearchReply, query: Query, account: Account) -> SearchResponse:
    body = object_of("anthropic", reply.body)
    texts, queries = list[str](), list[str]()
    sources, citations = list[Source](), list[Citation]()
    for block in rows_at(body, "content"):
        match block.get("type"):
            case "text":
                texts.append(text_at(block, "text"))
                citations += map(_anthropic_citation, rows_at(block, "citations"))
            case "server_tool_use" if text_at(block, "input", "query"):
                queries.append(text_at(block, "input", "query"))
            case "web_search_tool_result":
                if code := text_at(block, "content", "error_code"):
                    texts.append(f"(The search failed: {code}.)" if texts else "")
                sources += map(_anthropic_source, rows_at(block, "content"))
            case _:
                continue
    searches = value_at(body, "usage", "server_tool_use", "web_search_requests")
    usage = numbers_at(body.get("usage"), inputTokens="input_tokens", outputTokens="output_tokens")
    return SearchResponse(
        provider="anthropic",
        answer="".join(texts).strip(),
        sources=unique_sources(sources, query.result_count),
        citations=tuple(dict.fromkeys(citation for citation in citations if citation.url)),
        search_queries=tuple(queries),
        usage=usage | ({"searchRequests": searches} if isinstance(searches, int) else {}),
        model=text_at(body, "model"),
        request_id=text_at(body, "id"),
    )


def _anthropic_citation(row: Mapping[str, Any]) -> Citation:
    return Citation(
        url=text_at(row, "url"), title=text_at(row, "title"), text=text_at(row, "cited_text")
    )


def _anthropic_source(row: Mapping[str, Any]) -> Source:
    return Source(
        title=text_at(row, "title"), url=text_at(row, "url"), published=text_at(row, "page_age")
    )


ANTHROPIC = Provider(
    name="anthropic", label="Anthropic", calls=_ask_anthropic, parse=_read_anthropic
)

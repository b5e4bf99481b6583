"""Exa: a search tool of a server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pi.batteries.web_search.json_values import (
    cut,
    object_of,
    rows_at,
    text_at,
    unique_sources,
)
from pi.batteries.web_search.providers.remote_tools import (
    ANSWER_SUMMARIES,
    listed_results,
    tool_call,
    tool_result,
)
from pi.batteries.web_search.search import (
    Account,
    Provider,
    Query,
    SearchCall,
    SearchReply,
    SearchResponse,
    Source,
)


def _ask_exa(query: Query, account: Account) -> Sequence[SearchCall]:
    count = query.count(10, 100)
    if not account.key:
        url = f"{account.base_url or 'https://mcp.exa.ai'}/mcp"
        return [tool_call(url, "web_search_exa", {"query": query.query, "numResults": count})]
    body = {
        "query": query.query,
        "numResults": count,
        "type": "auto",
        "contents": {"summary": {"query": query.query}},
    }
    base = account.base_url or "https://api.exa.ai"
    return [SearchCall(url=f"{base}/search", headers={"x-api-key": account.key}, body=body)]


def _read_exa(reply: SearchReply, query: Query, account: Account) -> SearchResponse:
    if not account.key:
        sources = listed_results(tool_result("exa", reply))
        return _exa_response(sources, query, {})
    body = object_of("exa", reply.body)
    rows = [
        Source(
            title=text_at(row, "title"),
            url=text_at(row, "url"),
            snippet=text_at(row, "summary") or text_at(row, "text"),
            published=text_at(row, "publishedDate"),
            author=text_at(row, "author"),
        )
        for row in rows_at(body, "results")
    ]
    return _exa_response(rows, query, body)


def _exa_response(rows: Sequence[Source], query: Query, body: Mapping[str, Any]) -> SearchResponse:
    sources = unique_sources(rows, query.count(10, 100))
    summaries = [row.snippet for row in sources if row.snippet][:ANSWER_SUMMARIES]
    return SearchResponse(
        provider="exa",
        answer="\n\n".join(cut(summary, 1000) for summary in summaries),
        sources=sources,
        request_id=text_at(body, "requestId"),
    )


EXA = Provider(name="exa", label="Exa", calls=_ask_exa, parse=_read_exa)

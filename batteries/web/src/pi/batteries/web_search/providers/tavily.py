"""Tavily: a list of results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pi.batteries.web_search.json_values import (
    object_of,
    rows_at,
    text_at,
    unique_sources,
)
from pi.batteries.web_search.providers.result_lists import bearer_headers
from pi.batteries.web_search.search import (
    Account,
    Provider,
    Query,
    SearchCall,
    SearchReply,
    SearchResponse,
    Source,
)


def _ask_tavily(query: Query, account: Account) -> Sequence[SearchCall]:
    body: dict[str, Any] = {
        "query": query.query,
        "max_results": query.count(5, 20, least=5),
        "search_depth": "basic",
        "include_answer": "advanced",
    }
    if query.recency:  # topic stays general: news alone would leave out documentation
        body["time_range"] = query.recency
    base = account.base_url or "https://api.tavily.com"
    return [SearchCall(url=f"{base}/search", headers=bearer_headers(account.key), body=body)]


def _read_tavily(reply: SearchReply, query: Query, account: Account) -> SearchResponse:
    body = object_of("tavily", reply.body)
    rows = (
        Source(
            title=text_at(row, "title"),
            url=text_at(row, "url"),
            snippet=text_at(row, "content"),
            published=text_at(row, "published_date"),
        )
        for row in rows_at(body, "results")
    )
    return SearchResponse(
        provider="tavily",
        answer=text_at(body, "answer"),
        sources=unique_sources(rows, query.count(5, 20, least=5)),
        request_id=text_at(body, "request_id"),
        auth_mode="api_key",
    )


TAVILY = Provider(name="tavily", label="Tavily", calls=_ask_tavily, parse=_read_tavily)

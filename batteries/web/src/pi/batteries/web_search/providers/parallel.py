"""Parallel: a list of results with excerpts."""

from __future__ import annotations

from collections.abc import Sequence

from pi.batteries.web_search.json_values import (
    object_of,
    rows_at,
    text_at,
    unique_sources,
    value_at,
)
from pi.batteries.web_search.providers.result_lists import texts_of
from pi.batteries.web_search.search import (
    Account,
    Provider,
    Query,
    SearchCall,
    SearchReply,
    SearchResponse,
    Source,
)


def _ask_parallel(query: Query, account: Account) -> Sequence[SearchCall]:
    body = {
        "objective": query.query,
        "search_queries": [query.query],
        "mode": "fast",
        "max_results": query.count(10, 40),
        "max_chars_per_result": 10_000,
    }
    headers = {"x-api-key": account.key, "parallel-beta": "search-extract-2025-10-10"}
    base = account.base_url or "https://api.parallel.ai"
    return [SearchCall(url=f"{base}/v1beta/search", headers=headers, body=body)]


def _read_parallel(reply: SearchReply, query: Query, account: Account) -> SearchResponse:
    body = object_of("parallel", reply.body)
    rows = (
        Source(
            title=text_at(row, "title"),
            url=text_at(row, "url"),
            snippet=" ".join(texts_of(value_at(row, "excerpts"))),
            published=text_at(row, "publish_date"),
        )
        for row in rows_at(body, "results")
    )
    return SearchResponse(
        provider="parallel",
        sources=unique_sources(rows, query.count(10, 40)),
        request_id=text_at(body, "search_id"),
    )


PARALLEL = Provider(name="parallel", label="Parallel", calls=_ask_parallel, parse=_read_parallel)

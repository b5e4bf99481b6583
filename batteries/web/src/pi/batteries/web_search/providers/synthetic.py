"""Synthetic: a list of results."""

from __future__ import annotations

from collections.abc import Sequence

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


def _ask_synthetic(query: Query, account: Account) -> Sequence[SearchCall]:
    base = account.base_url or "https://api.synthetic.new"
    headers = bearer_headers(account.key)
    return [SearchCall(url=f"{base}/v2/search", headers=headers, body={"query": query.query})]


def _read_synthetic(reply: SearchReply, query: Query, account: Account) -> SearchResponse:
    rows = (
        Source(
            title=text_at(row, "title"),
            url=text_at(row, "url"),
            snippet=text_at(row, "text"),
            published=text_at(row, "published"),
        )
        for row in rows_at(object_of("synthetic", reply.body), "results")
    )
    return SearchResponse(provider="synthetic", sources=unique_sources(rows, query.result_count))


SYNTHETIC = Provider(
    name="synthetic", label="Synthetic", calls=_ask_synthetic, parse=_read_synthetic
)

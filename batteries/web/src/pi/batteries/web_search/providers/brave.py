"""Brave: a list of results."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from pi.batteries.web_search.json_values import (
    object_of,
    rows_at,
    text_at,
    unique_sources,
    value_at,
)
from pi.batteries.web_search.providers.result_lists import request_id, texts_of
from pi.batteries.web_search.search import (
    Account,
    Provider,
    Query,
    SearchCall,
    SearchReply,
    SearchResponse,
    Source,
)


def _ask_brave(query: Query, account: Account) -> Sequence[SearchCall]:
    parameters = {"q": query.query, "count": query.count(10, 20), "extra_snippets": "true"}
    if query.recency:
        parameters["freshness"] = f"p{query.recency[0]}"
    base = account.base_url or "https://api.search.brave.com"
    headers = {"X-Subscription-Token": account.key}
    url = f"{base}/res/v1/web/search?{urlencode(parameters)}"
    return [SearchCall(url=url, method="GET", headers=headers)]


def _read_brave(reply: SearchReply, query: Query, account: Account) -> SearchResponse:
    rows = (
        Source(
            title=text_at(row, "title"),
            url=text_at(row, "url"),
            snippet=" ".join(
                (text_at(row, "description"), *texts_of(value_at(row, "extra_snippets")))
            ).strip(),
            published=text_at(row, "page_age") or text_at(row, "age"),
        )
        for row in rows_at(object_of("brave", reply.body), "web", "results")
    )
    sources = unique_sources(rows, query.count(10, 20))
    return SearchResponse(provider="brave", sources=sources, request_id=request_id(reply))


BRAVE = Provider(name="brave", label="Brave", calls=_ask_brave, parse=_read_brave)

"""Jina: a list of results."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

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


def _ask_jina(query: Query, account: Account) -> Sequence[SearchCall]:
    base = account.base_url or "https://s.jina.ai"
    url = f"{base}/{quote(query.query, safe='')}"
    return [SearchCall(url=url, method="GET", headers=bearer_headers(account.key))]


def _read_jina(reply: SearchReply, query: Query, account: Account) -> SearchResponse:
    rows = (
        Source(
            title=text_at(row, "title"),
            url=text_at(row, "url"),
            snippet=text_at(row, "description") or text_at(row, "content"),
            published=text_at(row, "date") or text_at(row, "publishedTime"),
        )
        for row in rows_at(object_of("jina", reply.body), "data")
    )
    return SearchResponse(provider="jina", sources=unique_sources(rows, query.result_count))


JINA = Provider(name="jina", label="Jina", calls=_ask_jina, parse=_read_jina)

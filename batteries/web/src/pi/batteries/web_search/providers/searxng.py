"""SearXNG: a list of results of the user's own server."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from pi.batteries.web_search.json_values import (
    object_of,
    rows_at,
    text_at,
    unique_sources,
    value_at,
)
from pi.batteries.web_search.providers.result_lists import bearer_headers, texts_of
from pi.batteries.web_search.search import (
    Account,
    Provider,
    Query,
    SearchCall,
    SearchReply,
    SearchResponse,
    Source,
)


def _ask_searxng(query: Query, account: Account) -> Sequence[SearchCall]:
    parameters = {"format": "json", "q": query.query}
    if query.recency:  # SearXNG does not support "week"
        parameters["time_range"] = "month" if query.recency == "week" else query.recency
    parameters |= account.options
    headers: dict[str, str] = {}
    if account.kind == "basic":
        token = base64.b64encode(account.key.encode()).decode()
        headers = {"Authorization": f"Basic {token}"}
    elif account.key:
        headers = bearer_headers(account.key)
    url = f"{account.base_url.rstrip('/')}/search?{urlencode(parameters)}"
    return [SearchCall(url=url, method="GET", headers=headers)]


def _read_searxng(reply: SearchReply, query: Query, account: Account) -> SearchResponse:
    body: Mapping[str, Any] = object_of("searxng", reply.body)
    rows = (
        Source(
            title=text_at(row, "title"),
            url=text_at(row, "url"),
            snippet=text_at(row, "content"),
            published=text_at(row, "publishedDate"),
        )
        for row in rows_at(body, "results")
    )
    return SearchResponse(
        provider="searxng",
        sources=unique_sources(rows, query.count(10, 20)),
        related_questions=tuple(texts_of(value_at(body, "suggestions"))),
    )


SEARXNG = Provider(name="searxng", label="SearXNG", calls=_ask_searxng, parse=_read_searxng)

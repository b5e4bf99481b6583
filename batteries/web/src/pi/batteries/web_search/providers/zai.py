"""Z.AI: a search tool of a server."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pi.batteries.web_search.json_values import (
    rows_at,
    text_at,
    unique_sources,
)
from pi.batteries.web_search.providers.remote_tools import listed_results, tool_call, tool_result
from pi.batteries.web_search.search import (
    Account,
    Provider,
    Query,
    SearchCall,
    SearchReply,
    SearchResponse,
    Source,
)


def _ask_zai(query: Query, account: Account) -> Sequence[SearchCall]:
    """One request per form of the arguments, newest first: the server has renamed them."""
    count = query.count(10, 50)
    forms: tuple[dict[str, Any], ...] = (
        {"query": query.query, "count": count},
        {"search_query": query.query, "count": count},
        {"search_query": query.query, "search_engine": "search-prime", "count": count},
    )
    base = account.base_url or "https://api.z.ai"
    url = f"{base}/api/mcp/web_search_prime/mcp"
    return [tool_call(url, "web_search_prime", form, account.key) for form in forms]


def _read_zai(reply: SearchReply, query: Query, account: Account) -> SearchResponse:
    text = tool_result("zai", reply)
    rows = _json_rows(text)
    sources = [
        Source(
            title=text_at(row, "title"),
            url=text_at(row, "link") or text_at(row, "url"),
            snippet=text_at(row, "content") or text_at(row, "snippet"),
            published=text_at(row, "publish_date"),
        )
        for row in rows or ()
    ]
    if rows is None:
        sources = listed_results(text)
    return SearchResponse(
        provider="zai",
        answer="" if rows is not None or sources else text,
        sources=unique_sources(sources, query.count(10, 50)),
        request_id=reply.headers.get("x-request-id", ""),
    )


def _json_rows(text: str) -> list[Mapping[str, Any]] | None:
    """The results of a text that is JSON, perhaps JSON in a string; ``None`` for other texts."""
    value: Any = text
    for _ in range(2):
        if not isinstance(value, str):
            break
        try:
            value = json.loads(value)
        except ValueError:
            return None
    for name in ("results", "search_result", "searchResult", "data"):
        if rows := rows_at(value, name):
            return rows
    return [row for row in value if isinstance(row, Mapping)] if isinstance(value, list) else []


ZAI = Provider(name="zai", label="Z.AI", calls=_ask_zai, parse=_read_zai)

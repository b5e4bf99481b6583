"""Kagi: a list of results."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

from pi.batteries.web_search.json_values import (
    object_of,
    rows_at,
    text_at,
    unique_sources,
    value_at,
)
from pi.batteries.web_search.providers.result_lists import DAYS, bearer_headers
from pi.batteries.web_search.search import (
    Account,
    Provider,
    Query,
    SearchCall,
    SearchReply,
    SearchResponse,
    Source,
)


def _ask_kagi(query: Query, account: Account) -> Sequence[SearchCall]:
    body: dict[str, Any] = {
        "query": query.query,
        "workflow": "search",
        "limit": query.count(10, 40),
    }
    if query.recency:
        after = date.fromisoformat(query.today) - timedelta(days=DAYS[query.recency])
        body["filters"] = {"after": after.isoformat()}
    base = account.base_url or "https://kagi.com"
    return [SearchCall(url=f"{base}/api/v1/search", headers=bearer_headers(account.key), body=body)]


_KAGI_KINDS = {"search": "", "video": "[Video] ", "news": "[News] ", "infobox": "[Infobox] "}


def _read_kagi(reply: SearchReply, query: Query, account: Account) -> SearchResponse:
    body = object_of("kagi", reply.body)
    rows = (
        Source(
            title=mark + text_at(row, "title"),
            url=text_at(row, "url"),
            snippet=text_at(row, "snippet"),
            published=text_at(row, "time"),
        )
        for kind, mark in _KAGI_KINDS.items()
        for row in rows_at(body, "data", kind)
    )
    questions = (
        text_at(row, "props", "question")
        for kind in ("adjacent_question", "related_search")
        for row in rows_at(body, "data", kind)
    )
    direct = value_at(body, "data", "direct_answer", 0)
    return SearchResponse(
        provider="kagi",
        answer=text_at(direct, "snippet") or text_at(direct, "title"),
        sources=unique_sources(rows, query.count(10, 40)),
        related_questions=tuple(filter(None, questions)),
        request_id=text_at(body, "meta", "trace"),
    )


KAGI = Provider(name="kagi", label="Kagi", calls=_ask_kagi, parse=_read_kagi)

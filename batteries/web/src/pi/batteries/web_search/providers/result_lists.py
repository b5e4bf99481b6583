"""Providers that list pages: Tavily, Brave, Jina, Parallel, Kagi, Synthetic, SearXNG."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any
from urllib.parse import quote, urlencode

from pi.batteries.web_search.search import (
    Account,
    Provider,
    Query,
    SearchCall,
    SearchReply,
    SearchResponse,
    Source,
    object_of,
    rows_at,
    text_at,
    unique_sources,
    value_at,
)

_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}


def _bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def _request_id(reply: SearchReply) -> str:
    return reply.headers.get("x-request-id", "")


# Tavily -------------------------------------------------------------------------------------------


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
    return [SearchCall(url=f"{base}/search", headers=_bearer(account.key), body=body)]


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


# Brave --------------------------------------------------------------------------------------------


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
                (text_at(row, "description"), *_texts(value_at(row, "extra_snippets")))
            ).strip(),
            published=text_at(row, "page_age") or text_at(row, "age"),
        )
        for row in rows_at(object_of("brave", reply.body), "web", "results")
    )
    sources = unique_sources(rows, query.count(10, 20))
    return SearchResponse(provider="brave", sources=sources, request_id=_request_id(reply))


def _texts(value: Any) -> list[str]:
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []


# Jina ---------------------------------------------------------------------------------------------


def _ask_jina(query: Query, account: Account) -> Sequence[SearchCall]:
    base = account.base_url or "https://s.jina.ai"
    url = f"{base}/{quote(query.query, safe='')}"
    return [SearchCall(url=url, method="GET", headers=_bearer(account.key))]


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


# Parallel -----------------------------------------------------------------------------------------


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
            snippet=" ".join(_texts(value_at(row, "excerpts"))),
            published=text_at(row, "publish_date"),
        )
        for row in rows_at(body, "results")
    )
    return SearchResponse(
        provider="parallel",
        sources=unique_sources(rows, query.count(10, 40)),
        request_id=text_at(body, "search_id"),
    )


# Kagi ---------------------------------------------------------------------------------------------


def _ask_kagi(query: Query, account: Account) -> Sequence[SearchCall]:
    body: dict[str, Any] = {
        "query": query.query,
        "workflow": "search",
        "limit": query.count(10, 40),
    }
    if query.recency:
        after = date.fromisoformat(query.today) - timedelta(days=_DAYS[query.recency])
        body["filters"] = {"after": after.isoformat()}
    base = account.base_url or "https://kagi.com"
    return [SearchCall(url=f"{base}/api/v1/search", headers=_bearer(account.key), body=body)]


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


# Synthetic ----------------------------------------------------------------------------------------


def _ask_synthetic(query: Query, account: Account) -> Sequence[SearchCall]:
    base = account.base_url or "https://api.synthetic.new"
    headers = _bearer(account.key)
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


# SearXNG ------------------------------------------------------------------------------------------


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
        headers = _bearer(account.key)
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
        related_questions=tuple(_texts(value_at(body, "suggestions"))),
    )


TAVILY = Provider(name="tavily", label="Tavily", calls=_ask_tavily, parse=_read_tavily)
BRAVE = Provider(name="brave", label="Brave", calls=_ask_brave, parse=_read_brave)
JINA = Provider(name="jina", label="Jina", calls=_ask_jina, parse=_read_jina)
PARALLEL = Provider(name="parallel", label="Parallel", calls=_ask_parallel, parse=_read_parallel)
KAGI = Provider(name="kagi", label="Kagi", calls=_ask_kagi, parse=_read_kagi)
SYNTHETIC = Provider(
    name="synthetic", label="Synthetic", calls=_ask_synthetic, parse=_read_synthetic
)
SEARXNG = Provider(name="searxng", label="SearXNG", calls=_ask_searxng, parse=_read_searxng)

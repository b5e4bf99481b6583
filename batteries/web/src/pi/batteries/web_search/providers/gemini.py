"""Gemini with its search tool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pi.batteries.web_search.json_values import (
    numbers_at,
    rows_at,
    text_at,
    unique_sources,
    value_at,
)
from pi.batteries.web_search.providers.model_answers import (
    INSTRUCTIONS,
    check_finished,
    decode_events,
)
from pi.batteries.web_search.search import (
    Account,
    Citation,
    Provider,
    Query,
    SearchCall,
    SearchReply,
    SearchResponse,
    Source,
)


def _ask_gemini(query: Query, account: Account) -> Sequence[SearchCall]:
    settings = {"maxOutputTokens": query.max_tokens, "temperature": query.temperature}
    chosen = {name: value for name, value in settings.items() if value is not None}
    body: dict[str, Any] = {
        "systemInstruction": {"parts": [{"text": INSTRUCTIONS}]},
        "contents": [{"role": "user", "parts": [{"text": query.query}]}],
        "tools": [{"googleSearch": {}}],
    }
    if chosen:
        body["generationConfig"] = chosen
    base = account.base_url or "https://generativelanguage.googleapis.com/v1beta"
    url = f"{base.rstrip('/')}/models/{GEMINI_MODEL}:streamGenerateContent?alt=sse"
    return [SearchCall(url=url, headers={"x-goog-api-key": account.key}, body=body)]


GEMINI_MODEL = "gemini-flash-latest"
"""Google's alias of its current small model."""


def _read_gemini(reply: SearchReply, query: Query, account: Account) -> SearchResponse:
    texts, chunks, supports = list[str](), list[Mapping[str, Any]](), list[Mapping[str, Any]]()
    queries: dict[str, None] = {}
    usage: dict[str, int] = {}
    model, finished = "", False
    for event in decode_events("gemini", reply):
        parts = rows_at(event, "candidates", 0, "content", "parts")
        texts += [text_at(part, "text") for part in parts if part.get("thought") is not True]
        grounding = value_at(event, "candidates", 0, "groundingMetadata")
        chunks += rows_at(grounding, "groundingChunks")
        supports += rows_at(grounding, "groundingSupports")
        queries |= dict.fromkeys(q for q in value_at(grounding, "webSearchQueries") or () if q)
        counted = value_at(event, "usageMetadata")
        usage |= numbers_at(
            counted, inputTokens="promptTokenCount", outputTokens="candidatesTokenCount"
        )
        model = text_at(event, "modelVersion") or model
        finished = finished or bool(text_at(event, "candidates", 0, "finishReason"))
    check_finished("gemini", finished=finished)
    pages = [
        Source(title=text_at(chunk, "web", "title"), url=text_at(chunk, "web", "uri"))
        for chunk in chunks
    ]
    citations = (
        Citation(url=pages[n].url, title=pages[n].title, text=text_at(support, "segment", "text"))
        for support in supports
        for n in value_at(support, "groundingChunkIndices") or ()
        if isinstance(n, int) and 0 <= n < len(pages)
    )
    return SearchResponse(
        provider="gemini",
        answer="".join(texts).strip(),
        sources=unique_sources(pages, query.result_count),
        citations=tuple(dict.fromkeys(citations)),
        search_queries=tuple(queries),
        usage=usage,
        model=model,
    )


GEMINI = Provider(name="gemini", label="Gemini", calls=_ask_gemini, parse=_read_gemini, retries=3)

"""Perplexity: its API with a key, or its web page with a login, cookies or anonymously."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pi.batteries.web_search.json_values import (
    numbers_at,
    rows_at,
    text_at,
    unique_sources,
    value_at,
)
from pi.batteries.web_search.providers.model_answers import INSTRUCTIONS
from pi.batteries.web_search.search import (
    Account,
    Citation,
    Provider,
    Query,
    SearchCall,
    SearchFailed,
    SearchReply,
    SearchResponse,
    Source,
)

MODEL, MAX_TOKENS, TEMPERATURE, SEARCH_RESULTS = "sonar-pro", 8192, 0.2, 20


def _ask(query: Query, account: Account) -> Sequence[SearchCall]:
    return [_ask_api(query, account) if account.kind == "api_key" else _ask_page(query, account)]


def _read(reply: SearchReply, query: Query, account: Account) -> SearchResponse:
    read = _read_api if account.kind == "api_key" else _read_page
    return read(reply, query, account)


# API ----------------------------------------------------------------------------------------------


def _ask_api(query: Query, account: Account) -> SearchCall:
    body: dict[str, Any] = {
        "model": MODEL,
        "messages": [
            {"role": "system", "content": INSTRUCTIONS},
            {"role": "user", "content": query.query},
        ],
        "search_mode": "web",
        "num_search_results": query.num_search_results or SEARCH_RESULTS,
        "max_tokens": query.max_tokens or MAX_TOKENS,
        "temperature": TEMPERATURE if query.temperature is None else query.temperature,
        "stream": True,
    }
    if query.recency:
        body["search_recency_filter"] = query.recency
    base = account.base_url or "https://api.perplexity.ai"
    headers = {"Authorization": f"Bearer {account.key}"}
    return SearchCall(url=f"{base}/chat/completions", headers=headers, body=body)


def _read_api(reply: SearchReply, query: Query, account: Account) -> SearchResponse:
    """Read the stream, or the single object of a gateway that does not stream."""
    events = [event for event in (*reply.events, reply.body) if isinstance(event, Mapping)]
    texts = list[str]()
    last: dict[str, Any] = {}
    finished = False
    for event in events:
        choice = value_at(event, "choices", 0)
        texts.append(text_at(choice, "delta", "content") or text_at(choice, "message", "content"))
        finished = finished or bool(text_at(choice, "finish_reason"))
        last |= {name: value for name, value in event.items() if value}
    if not finished:
        raise SearchFailed("perplexity", "The answer of perplexity ended too early.")
    rows = [
        Source(
            title=text_at(row, "title"),
            url=text_at(row, "url"),
            snippet=text_at(row, "snippet"),
            published=text_at(row, "date"),
        )
        for row in rows_at(last, "search_results")
    ]
    cited = [url for url in value_at(last, "citations") or () if isinstance(url, str)]
    titles = {row.url: row.title for row in rows}
    sources = rows or [Source(title=url, url=url) for url in cited]
    usage = numbers_at(
        last.get("usage"), inputTokens="prompt_tokens", outputTokens="completion_tokens"
    )
    return SearchResponse(
        provider="perplexity",
        answer=_longest(texts),
        sources=unique_sources(sources, query.limit),
        citations=tuple(Citation(url=url, title=titles.get(url, "")) for url in cited),
        related_questions=tuple(
            question
            for question in value_at(last, "related_questions") or ()
            if isinstance(question, str)
        ),
        usage=usage,
        model=text_at(last, "model"),
        request_id=text_at(last, "id"),
        auth_mode="api_key",
    )


def _longest(texts: Sequence[str]) -> str:
    """All deltas joined, or the last message alone if it repeats them."""
    joined = "".join(texts[:-1])
    if texts and joined and texts[-1].startswith(joined):
        return texts[-1].strip()
    return "".join(texts).strip()


# Web page -----------------------------------------------------------------------------------------


def _ask_page(query: Query, account: Account) -> SearchCall:
    identifier = account.options.get("requestId", "")
    params: dict[str, Any] = {
        "attachments": [],
        "frontend_context_uuid": identifier,
        "frontend_uuid": identifier,
        "is_incognito": True,
        "language": "en-US",
        "mode": "concise",
        "model_preference": "turbo",
        "query_source": "home",
        "search_focus": "internet",
        "source": "default",
        "sources": ["web"],
        "use_schematized_api": True,
        "version": "2.18",
    }
    if query.recency:
        params["search_recency_filter"] = query.recency
    headers = {"Accept": "text/event-stream"}
    if account.kind == "cookie":
        headers["Cookie"] = account.key
    elif account.kind == "oauth":
        headers["Authorization"] = f"Bearer {account.key}"
    base = account.base_url or "https://www.perplexity.ai"
    body = {"query_str": query.query, "params": params}
    return SearchCall(url=f"{base}/rest/sse/perplexity_ask", headers=headers, body=body)


def _read_page(reply: SearchReply, query: Query, account: Account) -> SearchResponse:
    """Merge the events: each repeats its blocks, which become more complete."""
    blocks: dict[str, Mapping[str, Any]] = {}
    last: dict[str, Any] = {}
    for event in reply.events:
        if not isinstance(event, Mapping):
            continue
        if code := event.get("error_code"):
            reason = text_at(event, "error_message") or str(code)
            raise SearchFailed("perplexity", f"Perplexity could not search: {reason}.")
        last |= {name: value for name, value in event.items() if value}
        for block in rows_at(event, "blocks"):
            blocks[text_at(block, "intended_usage")] = block
    if not (last.get("final") or last.get("final_sse_message")):
        raise SearchFailed("perplexity", "The answer of perplexity ended too early.")
    written = value_at(
        blocks.get("ask_text") or blocks.get("ask_text_0_markdown"), "markdown_block"
    )
    pieces = [chunk for chunk in value_at(written, "chunks") or () if isinstance(chunk, str)]
    web_rows = rows_at(blocks.get("web_results"), "web_result_block", "web_results")
    older = _older_form(text_at(last, "text"))
    rows = (
        Source(
            title=text_at(row, "name") or text_at(row, "title"),
            url=text_at(row, "url"),
            snippet=text_at(row, "snippet"),
            published=text_at(row, "timestamp"),
        )
        for row in web_rows or rows_at(older, "web_results")
    )
    return SearchResponse(
        provider="perplexity",
        answer=(text_at(written, "answer") or "".join(pieces) or text_at(older, "answer")).strip(),
        sources=unique_sources(rows, query.limit),
        model=text_at(last, "display_model"),
        request_id=text_at(last, "uuid"),
        auth_mode="anonymous" if account.kind == "anonymous" else "oauth",
    )


def _older_form(text: str) -> Any:
    """The answer of older servers, which send it as JSON text within the event."""
    try:
        return json.loads(text) if text.startswith("{") else {"answer": text}
    except ValueError:
        return {"answer": text}


PERPLEXITY = Provider(name="perplexity", label="Perplexity", calls=_ask, parse=_read)

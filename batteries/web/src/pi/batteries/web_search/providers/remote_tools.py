"""Z.AI, and Exa without a key, use a remote tool (JSON-RPC ``tools/call``); Exa with a key REST."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from pi.batteries.web_search.search import (
    MAX_ERROR,
    Account,
    ArgumentsRefused,
    Provider,
    Query,
    SearchCall,
    SearchFailed,
    SearchReply,
    SearchResponse,
    Source,
    cut,
    object_of,
    rows_at,
    text_at,
    unique_sources,
    value_at,
)

_REFUSED = re.compile(r"argument|parameter|required|invalid (?:input|param)|schema", re.IGNORECASE)
_FIELD = re.compile(
    r"^(Title|URL|Link|Published Date|Published|Author|Text|Summary|Highlights|Snippet):[ \t]*",
    re.IGNORECASE | re.MULTILINE,
)
INVALID_PARAMS = -32602
ANSWER_SUMMARIES = 3


def tool_call(url: str, tool: str, arguments: Mapping[str, Any], key: str = "") -> SearchCall:
    """A call of a remote tool, whose server may answer with JSON or a stream."""
    headers = {"Accept": "application/json, text/event-stream"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    params = {"name": tool, "arguments": dict(arguments)}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return SearchCall(url=url, headers=headers, body=body)


def tool_result(provider: str, reply: SearchReply) -> str:
    """The text of the tool. Raises ``SearchFailed``, or ``ArgumentsRefused``."""
    messages = [message for message in (*reply.events, reply.body) if isinstance(message, Mapping)]
    message = next((m for m in messages if "result" in m or "error" in m), None)
    if message is None:
        raise SearchFailed(provider, f"{provider} answered without a JSON-RPC result.")
    if error := value_at(message, "error"):
        text = text_at(error, "message") or "unknown error"
        refused = value_at(error, "code") == INVALID_PARAMS or _REFUSED.search(text)
        kind = ArgumentsRefused if refused else SearchFailed
        raise kind(provider, f"{provider} refused the search: {cut(text, MAX_ERROR)}")
    parts = rows_at(message, "result", "content")
    text = "\n\n".join(text_at(part, "text") for part in parts).strip()
    if value_at(message, "result", "isError") is True:
        kind = ArgumentsRefused if _REFUSED.search(text) else SearchFailed
        raise kind(provider, f"{provider} could not search: {cut(text, MAX_ERROR)}")
    return text


def listed_results(text: str) -> list[Source]:
    """Results that a tool wrote as text: blocks of ``Title:``, ``URL:`` and other fields."""
    blocks: list[dict[str, str]] = []
    pieces = _FIELD.split(text)
    for name, value in zip(pieces[1::2], pieces[2::2], strict=True):
        if name.lower() == "title" or not blocks:
            blocks.append({})
        blocks[-1].setdefault(name.lower(), value.strip())
    return [
        Source(
            title=row.get("title", ""),
            url=_first_line(row, "url", "link"),
            snippet=next(filter(None, map(row.get, _TEXTS)), "") or "",
            published=_first_line(row, "published date", "published"),
            author=_first_line(row, "author"),
        )
        for row in blocks
    ]


_TEXTS = ("summary", "highlights", "snippet", "text")


def _first_line(row: Mapping[str, str], *names: str) -> str:
    text = next(filter(None, (row.get(name) for name in names)), "").partition("\n")[0].strip()
    return "" if text.lower() in ("n/a", "none", "null") else text


# Z.AI ---------------------------------------------------------------------------------------------


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


# Exa ----------------------------------------------------------------------------------------------


def _ask_exa(query: Query, account: Account) -> Sequence[SearchCall]:
    count = query.count(10, 100)
    if not account.key:
        url = f"{account.base_url or 'https://mcp.exa.ai'}/mcp"
        return [tool_call(url, "web_search_exa", {"query": query.query, "numResults": count})]
    body = {
        "query": query.query,
        "numResults": count,
        "type": "auto",
        "contents": {"summary": {"query": query.query}},
    }
    base = account.base_url or "https://api.exa.ai"
    return [SearchCall(url=f"{base}/search", headers={"x-api-key": account.key}, body=body)]


def _read_exa(reply: SearchReply, query: Query, account: Account) -> SearchResponse:
    if not account.key:
        sources = listed_results(tool_result("exa", reply))
        return _exa_response(sources, query, {})
    body = object_of("exa", reply.body)
    rows = [
        Source(
            title=text_at(row, "title"),
            url=text_at(row, "url"),
            snippet=text_at(row, "summary") or text_at(row, "text"),
            published=text_at(row, "publishedDate"),
            author=text_at(row, "author"),
        )
        for row in rows_at(body, "results")
    ]
    return _exa_response(rows, query, body)


def _exa_response(rows: Sequence[Source], query: Query, body: Mapping[str, Any]) -> SearchResponse:
    sources = unique_sources(rows, query.count(10, 100))
    summaries = [row.snippet for row in sources if row.snippet][:ANSWER_SUMMARIES]
    return SearchResponse(
        provider="exa",
        answer="\n\n".join(cut(summary, 1000) for summary in summaries),
        sources=sources,
        request_id=text_at(body, "requestId"),
    )


ZAI = Provider(name="zai", label="Z.AI", calls=_ask_zai, parse=_read_zai)
EXA = Provider(name="exa", label="Exa", calls=_ask_exa, parse=_read_exa)

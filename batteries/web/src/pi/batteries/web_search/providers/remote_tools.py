"""Z.AI, and Exa without a key, use a remote tool (JSON-RPC ``tools/call``); Exa with a key REST."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pi.batteries.web_search.json_values import (
    cut,
    rows_at,
    text_at,
    value_at,
)
from pi.batteries.web_search.search import (
    MAX_ERROR,
    ArgumentsRefused,
    SearchCall,
    SearchFailed,
    SearchReply,
    Source,
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


# Exa ----------------------------------------------------------------------------------------------

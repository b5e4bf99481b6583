"""The message of a failure, from a JSON document, a web page or plain text. Pure."""

from __future__ import annotations

import re

from pi.ai.failures import details
from pi.ai.json_text import json_text
from pi.ai.messages import Json

MAX_SHOWN = 2000
"""Characters of a provider's error that a message keeps."""

_HTML = r"\s*(?:<!--.*?-->\s*)?<(?:!doctype\s+html|html|head|body)\b"

_TITLE = r"<(title|h1)\b[^>]*>(.*?)</\1"


def parse_document(body: bytes) -> Json:
    """Return the JSON object of ``body``, also from a list or a truncated one; else ``{}``."""
    import jiter  # lazy: every first request would pay for it

    text = body.decode("utf-8", "replace")
    try:
        value = jiter.from_json(text.encode(), partial_mode="trailing-strings")
    except ValueError:
        return {}
    if isinstance(value, list) and value:  # Google without ``alt=sse``
        value = value[0]
    return value if isinstance(value, dict) else {}


def described_error(error: Json) -> Json:
    """Return the inner error object; a plain string counts as its message."""
    inner = details.inner_error(error)
    if isinstance(text := inner.get("error"), str) and not inner.get("message"):
        return {**inner, "message": text}
    return inner


def summarise(document: Json) -> str:
    """Return the status and message of an error document, truncated."""
    inner = document.get("error")
    return truncate(
        json_text(_presentable(inner if isinstance(inner, dict) and inner else document))
    )


def message_of(error: Json, status: int | None) -> str:
    """Return one line: the message with the status, or with the code."""
    if status is not None:
        return f"{status}: {summarise(error)}"
    sentence = readable_body(details.message_in(error).encode("utf-8", "replace"))
    if not sentence:
        return summarise(error)
    names = [name for name in details.codes(error) if not name.isdigit() and name != "error"]
    return f"{names[0]}: {sentence}" if names else sentence


def _presentable(value: object, depth: int = 20) -> object:
    """Return a JSON value with HTML pages replaced by their titles and limited nesting."""
    match value:
        case str():
            return _page_title(value) if _is_page(value) else value
        case dict() | list() if not depth:
            return "…"
        case dict():
            return {key: _presentable(item, depth - 1) for key, item in value.items()}
        case list():
            return [_presentable(item, depth - 1) for item in value]
        case _:
            return value


def readable_body(body: bytes) -> str:
    """Return ``body`` as bounded text on one line; of an HTML page only its title."""
    text = body.decode("utf-8", "replace")
    if _is_page(text):
        return _page_title(text)
    return truncate(" ".join(text.split()))


def _is_page(text: str) -> bool:
    return re.match(_HTML, text, re.IGNORECASE | re.DOTALL) is not None


def _page_title(page: str) -> str:
    from html import unescape  # lazy: its table of entities takes 2 ms to load

    match = re.search(_TITLE, page[:8192], re.IGNORECASE | re.DOTALL)
    title = " ".join(unescape(re.sub(r"<[^<>]*>", " ", match[2])).split()) if match else ""
    return f"a web page titled {truncate(title, 200)!r}" if title else "a web page without a title"


def truncate(text: str, most: int = MAX_SHOWN) -> str:
    """Return ``text``, at most ``most`` characters long."""
    return text if len(text) <= most else f"{text[:most]}…"

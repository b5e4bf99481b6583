"""The lists that providers have of their own models: where they are, and what they state. Pure.

A list may also have models for other purposes. An unknown model is taken over only if its entry, or
else its name, says that it is for conversations.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from pi.ai.messages import Json
from pi.ai.models.model import Model
from pi.ai.models.public_lists import Facts, from_openrouter, from_vercel
from pi.ai.request import Access
from pi.base.records import Record

_NOT_CHAT = (
    r"embed|tts|whisper|speech|audio|voice|dall-e|image|imagen|veo|sora|video|lyria|realtime|live"
    r"|transcri|moderation|rerank|guard|ocr|davinci|babbage|instruct|search|computer-use|aqa"
    r"|deep-research|native|robotics|translate|-bge|parse"
)
"""Parts of the names of models for other purposes."""
_CHAT_TYPES = frozenset({"", "chat", "chat-completion", "language", "llm", "model", "text"})
_WINDOW = (
    *("context_length", "context_window", "max_context_length", "max_model_len"),
    *("max_input_tokens", "inputTokenLimit", "max_context_window_tokens"),
)
_OUTPUT = ("max_output_tokens", "max_completion_tokens", "outputTokenLimit")
_TITLES = ("display_name", "displayName", "title")
_OWN_KEY = {"openrouter": "/models/user"}
"""Lists with the limits and prices of the user's own key."""
_LISTS = {
    "anthropic-messages": "/v1/models?limit=1000",
    "google-generative-ai": "/models?pageSize=1000",
    "mistral-conversations": "/v1/models",
    "openai-completions": "/models",
    "openai-responses": "/models",
}
"""The path of the list by protocol."""


class ListRequest(Record):
    """A request for a list."""

    url: str
    headers: tuple[tuple[str, str], ...] = ()


def list_path(model: Model) -> str | None:
    """Return the path of the list of the provider of ``model``, its default; ``None`` if the
    protocol has no list."""
    return _OWN_KEY.get(model.provider) or _LISTS.get(model.api)


def list_request(model: Model, access: Access) -> ListRequest | None:
    """Return the request for the list of the provider of ``model``, its default; ``None`` if it
    has no list, or its address is not known."""
    path = list_path(model)
    base = (access.base_url or model.base_url).rstrip("/")
    if path is None or not base or "{" in base:
        return None
    headers = {**(model.headers or {}), **access.headers}
    key = access.api_key
    if model.api == "anthropic-messages":
        headers |= {"anthropic-version": "2023-06-01"}
    if key and model.api == "google-generative-ai":
        headers |= {"x-goog-api-key": key}
    elif key and model.api == "anthropic-messages" and access.kind != "oauth":
        headers |= {"x-api-key": key}
    elif key:
        headers |= {"Authorization": f"Bearer {key}"}
    return ListRequest(url=base + path, headers=tuple(headers.items()))


def read_list(provider: str, document: object, known: Iterable[str]) -> dict[str, Facts]:
    """Return the facts of a provider's list, by model; ``known`` are ids of the catalog.

    Raises ``ValueError`` if it is no list.
    """
    listed = document
    if isinstance(document, dict):
        listed = document.get("data", document.get("models"))
    if not isinstance(listed, list):
        raise ValueError("it is not a list of models")
    entries = [entry for entry in listed if isinstance(entry, dict)]
    if provider == "openrouter":
        return from_openrouter({"data": entries})["openrouter"]
    if provider == "vercel-ai-gateway":
        return from_vercel({"data": entries})[provider]
    ids = frozenset(known)
    facts = (_facts(entry) for entry in entries if isinstance(_id(entry), str))
    by_id = {entry["id"]: entry for entry in facts}
    kinds = {_id(entry): _is_chat(entry) for entry in entries}
    return {name: entry for name, entry in by_id.items() if name in ids or kinds[name]}


def _id(entry: Json) -> str | None:
    name = entry.get("id", entry.get("name"))
    return name.removeprefix("models/") if isinstance(name, str) else None


def _facts(entry: Json) -> Facts:
    facts: Facts = {"id": _id(entry)}
    limits = _nested(entry, "capabilities", "limits")
    if title := next((entry[name] for name in _TITLES if isinstance(entry.get(name), str)), ""):
        facts["name"] = title
    if window := _number((entry, limits), _WINDOW):
        facts["contextWindow"] = window
    if output := _number((entry, limits), _OUTPUT):
        facts["maxTokens"] = output
    return facts


def _is_chat(entry: Json) -> bool:
    """Whether an entry is of a model for conversations with tools."""
    kind = entry.get("type", _nested(entry, "capabilities").get("type"))
    if isinstance(kind, str) and kind not in _CHAT_TYPES:
        return False
    methods = entry.get("supportedGenerationMethods")
    if isinstance(methods, list) and "generateContent" not in methods:
        return False
    for ability in ("function_calling", "completion_chat"):
        if _nested(entry, "capabilities").get(ability) is False:
            return False
    if _nested(entry, "capabilities", "supports").get("tool_calls") is False:
        return False
    return re.search(_NOT_CHAT, _id(entry) or "", re.IGNORECASE) is None


def _nested(entry: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    for name in names:
        inner = entry.get(name)
        entry = inner if isinstance(inner, dict) else {}
    return entry


def _number(entries: Iterable[Mapping[str, Any]], names: Iterable[str]) -> int:
    for entry in entries:
        for name in names:
            value = entry.get(name)
            if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                return value
    return 0

"""Values in the JSON of providers, checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pi.batteries.web_search.search import SearchFailed, Source


def text_at(value: Any, *path: str | int) -> str:
    """The text at a path of keys and indexes; empty if there is none."""
    text = value_at(value, *path)
    return text if isinstance(text, str) else ""


def value_at(value: Any, *path: str | int) -> Any:
    """The value at a path of keys and indexes; ``None`` if there is none."""
    for step in path:
        if isinstance(step, str) and isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(step, int) and isinstance(value, list) and -len(value) <= step < len(value):
            value = value[step]
        else:
            return None
    return value


def rows_at(value: Any, *path: str | int) -> list[Mapping[str, Any]]:
    """The objects of the list at a path."""
    member = value_at(value, *path)
    rows = member if isinstance(member, list) else []
    return [row for row in rows if isinstance(row, Mapping)]


def numbers_at(value: Any, **names: str) -> dict[str, int]:
    """Counters of an object, renamed: ``names`` maps our names to theirs."""
    counts = {ours: value_at(value, theirs) for ours, theirs in names.items()}
    return {name: count for name, count in counts.items() if isinstance(count, int)}


def object_of(provider: str, body: Any) -> Mapping[str, Any]:
    """The body; raises ``SearchFailed`` if it is not an object."""
    if not isinstance(body, Mapping):
        raise SearchFailed(provider, f"{provider} answered with something that is not an object.")
    return body


def unique_sources(rows: Iterable[Source], result_count: int | None = None) -> tuple[Source, ...]:
    """The sources with an address, each once, at most ``result_count``."""
    sources: dict[str, Source] = {}
    for row in rows:
        if row.url.startswith(("http://", "https://")):
            sources.setdefault(row.url, row)
    return tuple(sources.values())[: None if result_count is None else max(result_count, 1)]


def cut(text: str, most: int) -> str:
    """Truncate to at most ``most`` characters."""
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"

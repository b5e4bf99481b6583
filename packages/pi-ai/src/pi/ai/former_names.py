"""Former ids of providers: files of earlier versions name them, and other programs read them.

Values are converted when they are read; a file keeps the name that it uses. Pure.
"""

from __future__ import annotations

from typing import Any

FORMER = {"azure-openai-responses": "azure"}
"""Current ids by former ones."""
_CURRENT = {current: former for former, current in FORMER.items()}


def current_name(name: str) -> str:
    """Return ``name`` with the current id of its provider: an id, or ``provider/model``."""
    provider, separator, model = name.partition("/")
    return f"{FORMER[provider]}{separator}{model}" if provider in FORMER else name


def names_used(provider: str) -> tuple[str, ...]:
    """Return the ids under which files may have a provider, the current one first."""
    provider = current_name(provider)
    former = (name for name, current in FORMER.items() if current == provider)
    return (provider, *former)


def with_current_names(value: Any) -> Any:
    """Return JSON with current names of providers and models, also in the keys of objects."""
    match value:
        case str():
            return current_name(value)
        case list():
            return [with_current_names(item) for item in value]
        case dict():
            return {current_name(key): with_current_names(item) for key, item in value.items()}
        case _:
            return value


def with_names_of(value: Any, before: Any) -> Any:
    """Return ``value`` with former names where ``before``, which it replaces, uses them."""
    if before == with_current_names(before):
        return value
    match value:
        case str():
            provider, separator, model = value.partition("/")
            return f"{_CURRENT.get(provider, provider)}{separator}{model}"
        case list() | tuple():
            return [with_names_of(item, before) for item in value]
        case dict():
            return {
                with_names_of(key, before): with_names_of(item, before)
                for key, item in value.items()
            }
        case _:
            return value

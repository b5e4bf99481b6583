"""Deprecated flat API: functions on one shared collection.

New code creates its own collection with ``pi.ai.create_models`` and closes it. This module keeps
one per process, with the process's environment and the default agent directory, created on first
use; ``reset`` closes it.
"""

from __future__ import annotations

from pi.ai.collection import ModelProvider, Models
from pi.ai.event_stream import EventStream
from pi.ai.factory import create_models
from pi.ai.messages import AssistantMessage, Context
from pi.ai.models.model import Model
from pi.ai.request import StreamOptions

_shared: list[Models] = []


def models() -> Models:
    """Return the shared collection."""
    if not _shared:
        _shared.append(create_models())
    return _shared[0]


def get_model(provider: str, model_id: str) -> Model | None:
    """Return the model of ``provider`` with exactly this id."""
    return models().get_model(provider, model_id)


def get_models(provider: str | None = None) -> tuple[Model, ...]:
    """Return all models, or those of one provider."""
    return models().get_models(provider)


def get_providers() -> tuple[str, ...]:
    """Return the ids of all providers."""
    return tuple(row.id for row in models().get_providers())


def register_provider(provider: ModelProvider) -> None:
    """Add a provider to the shared collection."""
    models().register(provider)


def stream(model: Model, context: Context, options: StreamOptions | None = None) -> EventStream:
    """Send a request to ``model`` exactly as ``options`` say."""
    return models().stream(model, context, options)


def stream_simple(
    model: Model, context: Context, options: StreamOptions | None = None
) -> EventStream:
    """Send a request with a thinking level the model supports and an output that fits its
    window."""
    return models().stream_simple(model, context, options)


async def complete(
    model: Model, context: Context, options: StreamOptions | None = None
) -> AssistantMessage:
    """Return the whole response of ``stream``."""
    return await stream(model, context, options).result()


async def complete_simple(
    model: Model, context: Context, options: StreamOptions | None = None
) -> AssistantMessage:
    """Return the whole response of ``stream_simple``."""
    return await stream_simple(model, context, options).result()


async def reset() -> None:
    """Close the shared collection and drop it."""
    while _shared:
        await _shared.pop().close()

"""Talk to models: one API over many providers and wire protocols.

Usable alone. Must not know agents, sessions, tools that run, or screens. Importing it loads no
provider, no HTTP client and no catalog: those arrive with the first request.

>>> from pi.ai import Context, UserMessage
>>> from pi.ai.factory import create_models
"""

from typing import TYPE_CHECKING

from pi.ai.errors import ProviderError
from pi.ai.events import StreamEvent
from pi.ai.messages import (
    AssistantMessage,
    Context,
    Image,
    Message,
    SystemMessage,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from pi.ai.models.model import Model, ThinkingLevel
from pi.ai.models_collection import ModelProvider, Models
from pi.ai.providers.provider import Provider
from pi.ai.request import StreamOptions
from pi.ai.stream import EventStream

__all__ = [
    "AssistantMessage",
    "Context",
    "EventStream",
    "Image",
    "Message",
    "Model",
    "ModelProvider",
    "Models",
    "Provider",
    "ProviderError",
    "StreamEvent",
    "StreamOptions",
    "SystemMessage",
    "Text",
    "Thinking",
    "ThinkingLevel",
    "Tool",
    "ToolCall",
    "ToolResultMessage",
    "Usage",
    "UserMessage",
]

_OLD = (
    "complete",
    "complete_simple",
    "get_model",
    "get_models",
    "get_providers",
    "register_provider",
    "stream",
    "stream_simple",
)
"""Functions that stood here once."""

if not TYPE_CHECKING:  # type checkers would take any name for one of ours
    del globals()["stream"]  # the module of that name, which nobody asks for like this

    def __getattr__(name: str) -> object:
        if name not in _OLD:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        import warnings

        from pi.ai import compat

        warnings.warn(
            f"{name} of pi.ai is now in pi.ai.compat; better use pi.ai.factory.create_models",
            FutureWarning,  # shown to whoever runs an extension that has not moved yet
            stacklevel=2,
        )
        globals().update({old: getattr(compat, old) for old in _OLD})  # told once
        return globals()[name]

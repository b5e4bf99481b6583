"""Talk to models: one API over many providers and wire protocols.

Usable alone. Must not know agents, sessions, tools that run, or screens. Importing it loads no
provider, no HTTP client and no catalog: those arrive with the first request.

>>> from pi.ai import Context, UserMessage
>>> from pi.ai.factory import create_models
"""

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

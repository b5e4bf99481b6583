"""Talk to models: one API over many providers and wire protocols.

Usable alone. Does not import agents, sessions, tool execution or screens. Importing it loads no
provider, no HTTP client and no catalog: those are imported with the first request.

>>> import asyncio
>>> from pi.ai import Context, UserMessage, create_models
>>> from pi.ai.testing import FAUX_MODEL, ScriptedProvider, says
>>> models = create_models()
>>> models.register(ScriptedProvider(says("Hello, Ada.")))  # a script answers, without a network
>>> question = Context(messages=(UserMessage(content="I am Ada."),))
>>> asyncio.run(models.complete(FAUX_MODEL, question)).text
'Hello, Ada.'

All names are imported lazily from the modules that define them.
"""
# ruff: isort: skip_file

from __future__ import annotations

from typing import TYPE_CHECKING

from pi.base.lazy_names import lazy_names

if TYPE_CHECKING:
    from pi.ai.auth.credentials import ApiKeyCredential as ApiKeyCredential
    from pi.ai.auth.storage import AuthStorage as AuthStorage
    from pi.ai.collection import ModelProvider as ModelProvider, Models as Models
    from pi.ai.errors import ProviderError as ProviderError
    from pi.ai.event_stream import EventStream as EventStream
    from pi.ai.events import (
        Delta as Delta,
        Done as Done,
        Failed as Failed,
        Start as Start,
        StreamEvent as StreamEvent,
        TextDelta as TextDelta,
        TextEnd as TextEnd,
        TextStart as TextStart,
        ThinkingDelta as ThinkingDelta,
        ThinkingEnd as ThinkingEnd,
        ThinkingStart as ThinkingStart,
        ToolCallDelta as ToolCallDelta,
        ToolCallEnd as ToolCallEnd,
        ToolCallStart as ToolCallStart,
    )
    from pi.ai.factory import (
        create_images_models as create_images_models,
        create_models as create_models,
    )
    from pi.ai.images.collection import ImagesModels as ImagesModels
    from pi.ai.images.formats import (
        ImageModel as ImageModel,
        ImageRequest as ImageRequest,
        ImageResult as ImageResult,
    )
    from pi.ai.messages import (
        AssistantMessage as AssistantMessage,
        Context as Context,
        Image as Image,
        Message as Message,
        SystemMessage as SystemMessage,
        Text as Text,
        Thinking as Thinking,
        Tool as Tool,
        ToolCall as ToolCall,
        ToolResultMessage as ToolResultMessage,
        Usage as Usage,
        UserMessage as UserMessage,
    )
    from pi.ai.models.model import Model as Model
    from pi.ai.models.thinking_levels import ThinkingLevel as ThinkingLevel
    from pi.ai.provider import Provider as Provider
    from pi.ai.request import StreamOptions as StreamOptions
    from pi.ai.wire.pi_messages.request import ProxyRequest as ProxyRequest
    from pi.ai.wire.pi_messages.server import (
        PROXY_CONTENT_TYPE as PROXY_CONTENT_TYPE,
        proxy_messages as proxy_messages,
        proxy_stream_options as proxy_stream_options,
        read_proxy_request as read_proxy_request,
        serve_proxy as serve_proxy,
    )


_HOMES = {
    "pi.ai.auth.credentials": ("ApiKeyCredential",),
    "pi.ai.auth.storage": ("AuthStorage",),
    "pi.ai.collection": ("ModelProvider", "Models"),
    "pi.ai.errors": ("ProviderError",),
    "pi.ai.event_stream": ("EventStream",),
    "pi.ai.events": (
        "Delta",
        "Done",
        "Failed",
        "Start",
        "StreamEvent",
        "TextDelta",
        "TextEnd",
        "TextStart",
        "ThinkingDelta",
        "ThinkingEnd",
        "ThinkingStart",
        "ToolCallDelta",
        "ToolCallEnd",
        "ToolCallStart",
    ),
    "pi.ai.factory": ("create_images_models", "create_models"),
    "pi.ai.images.collection": ("ImagesModels",),
    "pi.ai.images.formats": ("ImageModel", "ImageRequest", "ImageResult"),
    "pi.ai.messages": (
        "AssistantMessage",
        "Context",
        "Image",
        "Message",
        "SystemMessage",
        "Text",
        "Thinking",
        "Tool",
        "ToolCall",
        "ToolResultMessage",
        "Usage",
        "UserMessage",
    ),
    "pi.ai.models.model": ("Model",),
    "pi.ai.models.thinking_levels": ("ThinkingLevel",),
    "pi.ai.provider": ("Provider",),
    "pi.ai.request": ("StreamOptions",),
    "pi.ai.wire.pi_messages.request": ("ProxyRequest",),
    "pi.ai.wire.pi_messages.server": (
        "PROXY_CONTENT_TYPE",
        "proxy_messages",
        "proxy_stream_options",
        "read_proxy_request",
        "serve_proxy",
    ),
}
"""The public names, by the module that defines them; the imports above tell type checkers."""

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
"""Deprecated functions, now in ``pi.ai.compat``."""

if not TYPE_CHECKING:  # type checkers would accept any name otherwise
    _look_up = lazy_names(__name__, _HOMES)

    def __getattr__(name: str) -> object:
        if name not in _OLD:
            return _look_up(name)
        import warnings

        from pi.ai import compat

        warnings.warn(
            f"{name} of pi.ai is now in pi.ai.compat; better use create_models",
            FutureWarning,  # shown to users of an extension that has not migrated
            stacklevel=2,
        )
        globals().update({old: getattr(compat, old) for old in _OLD})  # warn once
        return globals()[name]

    __all__ = [name for names in _HOMES.values() for name in names]

    def __dir__() -> list[str]:
        return __all__

"""The four formats that clients may speak, each as the server side of its wire, and their errors.

Pure.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

from pi.extension import (
    AssistantMessage,
    AuthenticationFailed,
    BadRequest,
    ContextOverflow,
    EventEncoder,
    Json,
    Message,
    Model,
    PiError,
    ProviderUnavailable,
    QuotaExhausted,
    RateLimited,
    Record,
    StreamEvent,
    StreamOptions,
    chat_completions_server,
    messages_for,
    messages_server,
    pi_messages_server,
    responses_server,
)

ErrorShape: TypeAlias = Callable[[str, str], Json]
"""Returns the body of an error: kind and message."""


EncodeEvent: TypeAlias = Callable[[StreamEvent, Any], bytes]
"""Returns the bytes for an event and the block that it ends, if it ends one."""
EncodeAnswer: TypeAlias = Callable[[AssistantMessage], Json]


class Question(Record):
    """A request of a client, in our terms."""

    model: str
    options: StreamOptions
    messages: Callable[[Model], tuple[Message, ...]]
    """Returns the conversation for the model that answers."""
    events: Callable[[str, int], EncodeEvent]
    """Returns the encoder of the answer's events; gets an id and the time in seconds."""
    whole: Callable[[str, int], EncodeAnswer] | None = None
    """Returns the encoder of the whole answer, if the client wants no events."""


class Format(Protocol):
    """One format."""

    prefix: str
    """The beginning of the ids of its answers."""

    def read(self, body: bytes) -> Question:
        """Decode a request; raises ``BadRequest``."""
        ...

    def error(self, kind: str, message: str) -> Json:
        """The body of an error."""
        ...


class ServedFormat:
    """Chat Completions, Messages or Responses, by their server modules."""

    def __init__(
        self, codec: Any, encoder: Callable[..., EventEncoder], prefix: str, error: ErrorShape
    ) -> None:
        self._codec = codec
        self._encoder = encoder
        self.prefix = prefix
        self.error = error

    def read(self, body: bytes) -> Question:
        """Decode a request; raises ``BadRequest``."""
        request = self._codec.decode_request(body)
        api = self._codec.API

        def whole(id: str, created: int) -> EncodeAnswer:
            return self._encoder(request, id, created).whole

        return Question(
            model=request.model,
            options=request.options,
            messages=lambda target: messages_for(request, api, target),
            events=lambda id, created: self._encoder(request, id, created).encode,
            whole=None if request.stream else whole,
        )


class PiFormat:
    """The events of pi itself, as the wire ``pi-messages`` sends them; always a stream."""

    prefix = "pi_"

    def read(self, body: bytes) -> Question:
        """Decode a request; raises ``BadRequest``."""
        request = pi_messages_server.read_proxy_request(body)
        return Question(
            model=request.model,
            options=pi_messages_server.proxy_stream_options(request.options),
            messages=lambda target: pi_messages_server.proxy_messages(request, target),
            events=lambda id, created: _pi_event,
        )

    def error(self, kind: str, message: str) -> Json:
        """The body of an error."""
        return {"error": {"type": kind, "message": message}}


def _pi_event(event: StreamEvent, block: Any) -> bytes:
    return pi_messages_server.encode_event(event, block=block)


def _openai_error(kind: str, message: str) -> Json:
    return {"error": {"message": message, "type": kind, "code": kind, "param": None}}


def _anthropic_error(kind: str, message: str) -> Json:
    return {"type": "error", "error": {"type": kind, "message": message}}


FORMATS: dict[str, Format] = {
    "/v1/chat/completions": ServedFormat(
        chat_completions_server,
        lambda request, id, created: chat_completions_server.ChatEncoder(
            request, response_id=id, created=created
        ),
        "chatcmpl-",
        _openai_error,
    ),
    "/v1/messages": ServedFormat(
        messages_server,
        lambda request, id, created: messages_server.MessagesEncoder(request, response_id=id),
        "msg_",
        _anthropic_error,
    ),
    "/v1/responses": ServedFormat(
        responses_server,
        lambda request, id, created: responses_server.ResponsesEncoder(
            request, response_id=id, created=created
        ),
        "resp_",
        _openai_error,
    ),
    "/v1/pi/stream": PiFormat(),
    "/v1/pi/messages": PiFormat(),
}
"""By path. The wire ``pi-messages`` appends ``/messages`` to its base URL."""


def listed(models: tuple[Model, ...]) -> Json:
    """The list of models, with the fields that the SDKs of OpenAI and Anthropic read."""
    rows = [
        {
            "id": f"{model.provider}/{model.id}",
            "object": "model",
            "type": "model",
            "created": 0,
            "created_at": "1970-01-01T00:00:00Z",
            "owned_by": model.provider,
            "display_name": model.name,
        }
        for model in models
    ]
    ends = {"first_id": rows[0]["id"], "last_id": rows[-1]["id"]} if rows else {}
    return {"object": "list", "data": rows, "has_more": False, **ends}


# Failures -----------------------------------------------------------------------------------------


class UnknownModel(PiError):
    """A client named a model that has no credentials here, or does not exist."""


class Problem(Record):
    """A failure as an HTTP response."""

    status: int
    kind: str
    """In the words of OpenAI and Anthropic."""
    retry: bool = False
    """Whether the client should try again; the official SDKs obey ``x-should-retry``."""


def problem_of(failure: Exception | None) -> Problem:
    """Returns the response for a failure before the answer began."""
    for kind, problem in _PROBLEMS.items():
        if isinstance(failure, kind):
            return problem
    return Problem(status=502, kind="api_error")


# The first that fits: ProviderUnavailable is a RateLimited as well.
_PROBLEMS: dict[type[PiError], Problem] = {
    UnknownModel: Problem(status=404, kind="not_found_error"),
    # Not 401: the client's own token for this gateway is right.
    AuthenticationFailed: Problem(status=403, kind="permission_error"),
    QuotaExhausted: Problem(status=429, kind="insufficient_quota"),
    ProviderUnavailable: Problem(status=503, kind="overloaded_error", retry=True),
    RateLimited: Problem(status=429, kind="rate_limit_error", retry=True),
    BadRequest: Problem(status=400, kind="invalid_request_error"),
    ContextOverflow: Problem(status=400, kind="invalid_request_error"),
}


def retry_after(failure: Exception | None) -> float | None:
    """How long a client should wait, if the provider has said so."""
    return failure.retry_after if isinstance(failure, RateLimited) else None

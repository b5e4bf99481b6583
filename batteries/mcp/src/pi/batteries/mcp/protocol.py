"""Messages of the Model Context Protocol in both eras. Pure.

Servers of the modern era (2026-07-28) are stateless: every request has the version and the
capabilities of the client in ``_meta``. Servers of the handshake era answer ``initialize`` first.

McpError
├── RpcError          the server answered with an error
├── BadMessage        the server broke the protocol
├── AnswerDropped     the answer was too large
├── ServerTimeout     no answer in time
└── ServerClosed      the program ended, or the connection was lost
    ├── SessionExpired   the HTTP session is unknown to the server: connect again
    └── HttpRefused      an HTTP status that is not a success
        └── LoginNeeded  401, or 403 for a missing scope
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from pi.extension import Json, PiError, Record, field

Era: TypeAlias = Literal["modern", "handshake"]

MODERN = "2026-07-28"
HANDSHAKE = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Versions that begin with ``initialize``, the newest first."""
MAX_SCHEMA_DEPTH = 100
"""Maximum nesting of a tool's schema; deeper ones would end in a recursion error."""
MAX_RESULT_DEPTH = 100
META = "io.modelcontextprotocol/"
LOG_LEVEL = "info"
UNSUPPORTED_VERSION = -32022
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
URL_ELICITATION_REQUIRED = -32042
MAX_ROUNDS = 10
"""How often the server may require input for one request."""
MAX_PAGES = 100
"""Maximum pages of one list, against servers whose cursor never ends."""


class McpError(PiError):
    """A failure of a server; the message names the server."""


class RpcError(McpError):
    """The server answered with an error."""

    def __init__(self, message: str, *, code: int, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


class BadMessage(McpError):
    """The server broke the protocol."""


class AnswerDropped(McpError):
    """The answer was too large."""


class ServerTimeout(McpError):
    """The server did not answer in time."""


class ServerClosed(McpError):
    """The program ended, or the connection was lost."""


class SessionExpired(ServerClosed):
    """The server does not know the HTTP session any more."""


class HttpRefused(ServerClosed):
    """The server answered with an HTTP status that is not a success."""

    def __init__(self, message: str, *, status: int, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.status = status


class LoginNeeded(HttpRefused):
    """The server requires an access token, or another one.

    ``challenge`` is the header ``WWW-Authenticate``.
    """

    def __init__(self, message: str, *, status: int, challenge: str, hint: str = "") -> None:
        super().__init__(message, status=status, hint=hint)
        self.challenge = challenge


class ServerInfo(Record):
    """Version, capabilities and instructions of a connected server."""

    era: Era
    version: str
    name: str = ""
    server_version: str = ""
    capabilities: Json = field(default_factory=dict)
    instructions: str = ""

    def offers(self, kind: str) -> bool:
        """Whether the server has a capability, such as ``completions``."""
        return kind in self.capabilities


class ToolInfo(Record):
    """A tool of a server. All texts are written by the server and untrusted."""

    name: str
    description: str = ""
    input_schema: Json = field(default_factory=dict)
    title: str = ""


class ResourceInfo(Record):
    """A resource of a server, or a template of resources if ``uri`` has placeholders."""

    uri: str
    name: str = ""
    description: str = ""
    mime_type: str = ""
    is_template: bool = False


class PromptArgument(Record):
    """An argument of a prompt."""

    name: str
    description: str = ""
    required: bool = False


class PromptInfo(Record):
    """A prompt of a server."""

    name: str
    description: str = ""
    arguments: tuple[PromptArgument, ...] = ()


# Messages of the server ---------------------------------------------------------------------------

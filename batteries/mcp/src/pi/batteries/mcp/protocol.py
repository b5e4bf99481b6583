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

import base64
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeAlias

from pi.base.foreign_text import hides_text
from pi.extension import Json, PiError, Record, field, neutralise

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


# Messages of the client ---------------------------------------------------------------------------


def client_capabilities(*, has_ui: bool) -> Json:
    """The capabilities of the client; sampling and elicitation need a user interface."""
    capabilities: Json = {"roots": {}}
    if has_ui:
        capabilities |= {"sampling": {}, "elicitation": {"form": {}, "url": {}}}
    return capabilities


def request(id: int, method: str, params: Json | None, *, meta: Json) -> Json:
    """A request. ``meta`` is merged into the ``_meta`` of the parameters."""
    merged = dict(params or {})
    if meta:
        merged["_meta"] = {**merged.get("_meta", {}), **meta}
    message: Json = {"jsonrpc": "2.0", "id": id, "method": method}
    return message | {"params": merged} if merged else message


def notification(method: str, params: Json | None = None) -> Json:
    """A notification."""
    message: Json = {"jsonrpc": "2.0", "method": method}
    return message | {"params": params} if params else message


def modern_meta(client_version: str, capabilities: Json) -> Json:
    """The ``_meta`` of every request to a modern server."""
    return {
        f"{META}protocolVersion": MODERN,
        f"{META}clientInfo": {"name": "pi", "version": client_version},
        f"{META}clientCapabilities": capabilities,
        f"{META}logLevel": LOG_LEVEL,
    }


def initialize_params(client_version: str, capabilities: Json) -> Json:
    """The parameters of ``initialize``."""
    return {
        "protocolVersion": HANDSHAKE[0],
        # 2026-07-28 has no notification for roots, so only the handshake announces it.
        "capabilities": capabilities | {"roots": {"listChanged": True}},
        "clientInfo": {"name": "pi", "version": client_version},
    }


_DESCRIBING = frozenset({"description", "title", "$comment"})
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_PLAIN = re.compile(r"[\x20-\x7e]*")
_ENCODED = re.compile(r"=\?base64\?.*\?=")
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")


def routing_headers(message: Json, schema: Json | None = None) -> dict[str, str]:
    """The HTTP headers of a request to a modern server; ``schema`` is that of the called tool."""
    method, params = message["method"], message.get("params", {})
    headers = {"Mcp-Method": method}
    if (key := _NAMED.get(method)) is not None and isinstance(params.get(key), str):
        headers["Mcp-Name"] = header_value(params[key])
    if method == "tools/call" and schema:
        arguments = params.get("arguments") or {}
        for path, token in header_parameters(schema):
            if (value := _scalar_at(arguments, path)) is not None:
                headers[f"Mcp-Param-{token}"] = header_value(value)
    return headers


def header_value(text: str) -> str:
    """``text``, encoded if an HTTP header cannot contain it unchanged."""
    if _PLAIN.fullmatch(text) and text == text.strip() and not _ENCODED.fullmatch(text):
        return text
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


def header_parameters(schema: Json, path: tuple[str, ...] = ()) -> Iterator[tuple[Any, str]]:
    """Paths of the arguments that are also sent as headers, with the name of each header."""
    properties = schema.get("properties")
    for name, property_schema in properties.items() if isinstance(properties, dict) else ():
        if not isinstance(property_schema, dict):
            continue
        token = property_schema.get("x-mcp-header")
        if isinstance(token, str) and _TOKEN.fullmatch(token):
            yield (*path, name), token
        yield from header_parameters(property_schema, (*path, name))


def header_problem(schema: Json) -> str:
    """The problem of the ``x-mcp-header`` annotations of a schema; empty if there is none."""
    seen: set[str] = set()
    for property_schema in _annotated_schemas(schema):
        token = property_schema["x-mcp-header"]
        if not isinstance(token, str) or not _TOKEN.fullmatch(token):
            return f"x-mcp-header {token!r} is not the name of a header"
        if token.lower() in seen:
            return f"x-mcp-header {token!r} is used twice"
        if property_schema.get("type") not in ("string", "integer", "boolean"):
            return f"x-mcp-header {token!r} is not on a text, integer or boolean"
        seen.add(token.lower())
    return ""


def _annotated_schemas(schema: Json) -> Iterator[Json]:
    properties = schema.get("properties")
    for property_schema in properties.values() if isinstance(properties, dict) else ():
        if isinstance(property_schema, dict):
            if "x-mcp-header" in property_schema:
                yield property_schema
            yield from _annotated_schemas(property_schema)


def _scalar_at(arguments: Mapping[str, Any], path: tuple[str, ...]) -> str | None:
    value: Any = arguments
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int) else None


# Messages of the server ---------------------------------------------------------------------------


def response_error(server: str, error: Any) -> RpcError:
    """The error of a response."""
    fields = error if isinstance(error, dict) else {}
    code = fields.get("code")
    text = neutralise(str(fields.get("message") or "no reason given")).strip()
    return RpcError(
        f"MCP server {server} refused the request: {text}",
        code=code if isinstance(code, int) else 0,
        data=fields.get("data"),
    )


def parse_discovery(result: Json) -> ServerInfo | None:
    """The server that answered ``server/discover``; ``None`` if it is not a modern one."""
    versions = result.get("supportedVersions")
    if not isinstance(versions, list) or MODERN not in versions:
        return None
    meta = _object(result.get("_meta"))
    return _info("modern", MODERN, result, meta.get(f"{META}serverInfo"))


def parse_initialisation(server: str, result: Json) -> ServerInfo:
    """The server that answered ``initialize``. Raises ``BadMessage`` for an unknown version."""
    version = result.get("protocolVersion")
    if version not in HANDSHAKE:
        raise BadMessage(
            f"MCP server {server} speaks version {version!r} of the protocol, which is unknown.",
            hint=f"Known versions: {', '.join((MODERN, *HANDSHAKE))}. Update pi or the server.",
        )
    return _info("handshake", version, result, result.get("serverInfo"))


def _info(era: Era, version: str, result: Json, implementation: Any) -> ServerInfo:
    implementation = _object(implementation)
    return ServerInfo(
        era=era,
        version=version,
        name=_text(implementation, "name"),
        server_version=_text(implementation, "version"),
        capabilities=_object(result.get("capabilities")),
        instructions=_text(result, "instructions"),
    )


def tools_of(result: Json) -> list[ToolInfo]:
    """The tools of a page; those without a name, or with a schema that is too deep, are skipped."""
    return [
        ToolInfo(
            name=entry["name"],
            description=_text(entry, "description"),
            input_schema=_neutral_schema(_object(entry.get("inputSchema"))),
            title=_text(entry, "title") or _text(_object(entry.get("annotations")), "title"),
        )
        for entry in _entries(result, "tools", "name")
        if not is_deeper(entry.get("inputSchema"), MAX_SCHEMA_DEPTH)
    ]


def resources_of(result: Json) -> list[ResourceInfo]:
    """The resources of a page."""
    return [_resource(entry, "uri") for entry in _entries(result, "resources", "uri")]


def templates_of(result: Json) -> list[ResourceInfo]:
    """The resource templates of a page."""
    entries = _entries(result, "resourceTemplates", "uriTemplate")
    return [_resource(entry, "uriTemplate") for entry in entries]


def _resource(entry: Json, key: str) -> ResourceInfo:
    return ResourceInfo(
        uri=entry[key],
        name=_text(entry, "title") or _text(entry, "name"),
        description=_text(entry, "description"),
        mime_type=_text(entry, "mimeType"),
        is_template=key == "uriTemplate",
    )


def prompts_of(result: Json) -> list[PromptInfo]:
    """The prompts of a page."""
    return [
        PromptInfo(
            name=entry["name"],
            description=_text(entry, "description") or _text(entry, "title"),
            arguments=tuple(
                PromptArgument(
                    name=argument["name"],
                    description=_text(argument, "description"),
                    required=argument.get("required") is True,
                )
                for argument in _entries(entry, "arguments", "name")
            ),
        )
        for entry in _entries(result, "prompts", "name")
    ]


def completions_of(result: Json) -> list[str]:
    """The values of a completion."""
    values = _object(result.get("completion")).get("values")
    return [value for value in values if isinstance(value, str)] if isinstance(values, list) else []


def input_requests(result: Json) -> tuple[dict[str, Json], str | None] | None:
    """The input that the server requires: requests by key, and its state; ``None`` if none."""
    if result.get("resultType") != "input_required":
        return None
    requests = {
        key: request
        for key, request in _object(result.get("inputRequests")).items()
        if _object(request)
    }
    state = result.get("requestState")
    return requests, state if isinstance(state, str) else None


def matches_template(template: str, uri: str) -> bool:
    """Whether a resource template can produce ``uri``."""
    # Not with ``re``: many placeholders of a stranger would backtrack for years.
    ends = {0}
    for part in re.split(r"(\{[^{}]*\})", template):
        if part.startswith("{"):
            ends = _ends_of_placeholder(ends, uri, stops="" if part[1:2] in "+#" else "?#")
        else:
            ends = {end + len(part) for end in ends if uri.startswith(part, end)}
    return len(uri) in ends


def _ends_of_placeholder(starts: set[int], uri: str, *, stops: str) -> set[int]:
    """The positions that a placeholder can end at, if it starts at one of these."""
    ends: set[int] = set()
    for start in sorted(starts):
        position = start
        while position not in ends:
            ends.add(position)
            if position == len(uri) or uri[position] in stops:
                break
            position += 1
    return ends


def compact(value: Any) -> str:
    """A JSON value in one line, for the log."""
    return json.dumps(value, ensure_ascii=False)


def _entries(result: Json, key: str, required: str) -> list[Json]:
    raw_entries = result.get(key)
    entries = raw_entries if isinstance(raw_entries, list) else []
    return [
        entry
        for entry in entries
        if isinstance(entry, dict) and isinstance(entry.get(required), str) and entry[required]
    ]


def _object(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


def _text(entry: Json, key: str) -> str:
    value = entry.get(key)
    return neutralise(value) if isinstance(value, str) else ""


def _neutral_schema(value: Any) -> Any:
    """A schema with neutral descriptions. Names and values stay: arguments have to match them."""
    match value:
        case dict():
            return {
                key: neutralise(member)
                if key in _DESCRIBING and isinstance(member, str)
                else _neutral_schema(member)
                for key, member in value.items()
            }
        case list():
            return [*map(_neutral_schema, value)]
        case _:
            return value


def is_deeper(value: Any, limit: int) -> bool:
    """Whether objects and lists are nested more than ``limit`` times. Without recursion."""
    level = [value]
    for _ in range(limit + 1):
        nested = [member for member in level if isinstance(member, dict | list)]
        if not nested:
            return False
        level = [
            member
            for container in nested
            for member in (container.values() if isinstance(container, dict) else container)
        ]
    return True


def hidden_text(tool: ToolInfo) -> str:
    """A name or a value of a tool that has invisible characters; empty if none has."""
    texts = (tool.name, *_texts_of(tool.input_schema))
    return next(filter(hides_text, texts), "")


def _texts_of(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for member in (*value, *value.values()) if isinstance(value, dict) else value:
            yield from _texts_of(member)

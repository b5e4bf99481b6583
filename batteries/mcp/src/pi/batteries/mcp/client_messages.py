"""Messages of the client: requests, their metadata and headers. Pure."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from typing import Any

from pi.batteries.mcp.protocol import HANDSHAKE, LOG_LEVEL, META, MODERN
from pi.extension import Json


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


DESCRIBING = frozenset({"description", "title", "$comment"})
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

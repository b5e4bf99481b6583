"""Messages of the server: answers and lists, checked and limited. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from pi.base.foreign_text import hides_text
from pi.batteries.mcp.client_messages import DESCRIBING
from pi.batteries.mcp.protocol import (
    HANDSHAKE,
    MAX_SCHEMA_DEPTH,
    META,
    MODERN,
    BadMessage,
    Era,
    PromptArgument,
    PromptInfo,
    ResourceInfo,
    RpcError,
    ServerInfo,
    ToolInfo,
)
from pi.extension import Json, neutralise


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
                if key in DESCRIBING and isinstance(member, str)
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

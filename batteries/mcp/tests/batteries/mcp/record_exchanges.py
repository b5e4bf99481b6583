# mypy: ignore-errors
# The SDK is installed in an environment of its own.
"""Records how the official SDK reads exchanges: run with the Python of the SDK.

    .oracles/python/bin/python batteries/mcp/tests/batteries/mcp/record_exchanges.py FILE

For every method of both eras it takes results of servers, lets the SDK parse them, and writes the
raw result together with a normal form of what the SDK read. ``--check FILE`` compares instead.
"""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path
from typing import Any

from mcp_types.methods import parse_server_result

VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
MODERN = "2026-07-28"
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
CONTENTS: list[dict[str, Any]] = [
    {"type": "text", "text": "plain"},
    {"type": "text", "text": "ümläut \n lines"},
    {"type": "image", "data": "aGk=", "mimeType": "image/png"},
    {"type": "resource", "resource": {"uri": "a://b", "text": "inside", "mimeType": "text/plain"}},
    {"type": "resource", "resource": {"uri": "a://b", "blob": "aGk=", "mimeType": "image/png"}},
]
NEWER: list[dict[str, Any]] = [
    {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
    {"type": "resource_link", "uri": "a://c", "name": "c", "description": "about"},
]


def results(version: str) -> Any:  # noqa: C901 (one table)
    """Methods with raw results of one version."""
    contents = CONTENTS if version < "2025-06-18" else CONTENTS + NEWER
    for size in (0, 1, 3):
        tools = [
            {"name": f"t{n}", "description": f"tool {n}", "inputSchema": SCHEMA, "title": f"T{n}"}
            for n in range(size)
        ]
        yield "tools/list", {"tools": tools} | ({"nextCursor": "x"} if size == 3 else {})
        arguments = [{"name": "q", "description": "what", "required": True}, {"name": "r"}]
        prompts = [
            {"name": f"p{n}", "description": "d", "arguments": arguments} for n in range(size)
        ]
        yield "prompts/list", {"prompts": prompts}
        resources = [
            {"uri": f"a://{n}", "name": f"r{n}", "mimeType": "text/x"} for n in range(size)
        ]
        yield "resources/list", {"resources": resources}
        templates = [{"uriTemplate": f"a://{{x}}/{n}", "name": f"m{n}"} for n in range(size)]
        yield "resources/templates/list", {"resourceTemplates": templates}
    for block, is_error in itertools.product(contents, (False, True)):
        yield "tools/call", {"content": [block], "isError": is_error}
    if version >= "2025-06-18":
        yield "tools/call", {"content": [], "structuredContent": {"a": [1, {"b": None}]}}
    for block in contents:
        yield "prompts/get", {"messages": [{"role": "user", "content": block}]}
        yield "prompts/get", {"messages": [{"role": "assistant", "content": block}] * 2}
    yield "resources/read", {"contents": [{"uri": "a://1", "text": "x", "mimeType": "text/plain"}]}
    yield "resources/read", {"contents": [{"uri": "a://1", "blob": "aGk="}]}
    yield "completion/complete", {"completion": {"values": ["a", "b"], "hasMore": False}}
    capabilities = {"tools": {"listChanged": True}, "resources": {"subscribe": True}, "logging": {}}
    about = {"name": "s", "version": "1"}
    if version == MODERN:
        meta = {"_meta": {"io.modelcontextprotocol/serverInfo": about}}
        result = {"supportedVersions": [MODERN], "capabilities": capabilities, "instructions": "i"}
        yield "server/discover", result | meta
        roots = {"method": "roots/list"}
        form = {"mode": "form", "message": "m", "requestedSchema": SCHEMA}
        elicit = {"method": "elicitation/create", "params": form}
        for requests in ({"a": roots}, {"a": roots, "b": elicit}):
            for state in ("s1", None):
                needed: dict[str, Any] = {"resultType": "input_required", "inputRequests": requests}
                if state:
                    needed["requestState"] = state
                for method in ("tools/call", "prompts/get", "resources/read"):
                    yield method, needed
    else:
        yield (
            "initialize",
            {"protocolVersion": version, "capabilities": capabilities, "serverInfo": about},
        )
        for method in ("ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"):
            yield method, {}


def completed(version: str, method: str, raw: dict[str, Any]) -> dict[str, Any]:
    """The result with the fields that a modern server has to send."""
    if version != MODERN or raw.get("resultType"):
        return raw
    cached = {"ttlMs": 0, "cacheScope": "private"}
    more = (
        cached if method.endswith("list") or method in ("server/discover", "resources/read") else {}
    )
    return {"resultType": "complete", **more, **raw}


def normal(result: Any) -> Any:
    """What was read, as JSON without absent fields and without fields that only caches use."""
    fields = result.model_dump(mode="json", by_alias=True, exclude_none=True)
    for name in ("ttlMs", "cacheScope", "resultType"):
        if name != "resultType" or fields.get(name) == "complete":
            fields.pop(name, None)
    return fields


def record() -> list[dict[str, Any]]:
    """All exchanges."""
    exchanges = []
    for version in VERSIONS:
        for method, result in results(version):
            raw = completed(version, method, result)
            read = normal(parse_server_result(method, version, raw))
            exchanges.append({"version": version, "method": method, "raw": raw, "read": read})
    return exchanges


def main() -> int:
    """Write the exchanges, or compare them with a file."""
    made = record()
    path = Path(sys.argv[-1])
    if sys.argv[1] == "--check":
        return 0 if json.loads(path.read_text()) == made else 1
    lines = ",\n".join(json.dumps(exchange, sort_keys=True) for exchange in made)
    path.write_text(f"[\n{lines}\n]\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""A small MCP server on standard input and output, with one tool: ``python mcp_server.py``."""

from __future__ import annotations

import json
import sys
from typing import Any

TOOL = {
    "name": "weather",
    "description": "Describes the weather.",
    "inputSchema": {"type": "object", "properties": {"city": {"type": "string"}}},
}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """Return the result of a request; ``None`` for an unknown method."""
    match method:
        case "initialize":
            return {
                "protocolVersion": params.get("protocolVersion", "2025-06-18"),
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "weather", "version": "1"},
            }
        case "tools/list":
            return {"tools": [TOOL]}
        case "tools/call":
            text = f"Rain in {params['arguments'].get('city', 'town')}."
            return {"content": [{"type": "text", "text": text}]}
        case "ping":
            return {}
        case _:
            return None


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message or "method" not in message:
        continue
    result = answer(message["method"], message.get("params") or {})
    body: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
    if result is None:
        body["error"] = {"code": -32601, "message": "unknown method"}
    else:
        body["result"] = result
    sys.stdout.write(json.dumps(body) + "\n")
    sys.stdout.flush()

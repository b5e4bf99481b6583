"""A small MCP server on standard input and output: ``python mcp_server.py [schema.json [raw]]``.

It has one tool, with the schema of a file; ``raw`` are bytes that answer a call, as a JSON text.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

TOOL = {
    "name": "weather",
    "description": "Describes the weather.",
    "inputSchema": {"type": "object", "properties": {"city": {"type": "string"}}},
}


if len(sys.argv) > 1:
    TOOL["inputSchema"] = json.loads(Path(sys.argv[1]).read_text())
RAW = json.loads(sys.argv[2]) if len(sys.argv) > 2 else None


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
    if RAW is not None and message["method"] == "tools/call":
        text = RAW["before"].replace("ID", str(message["id"])) + RAW["part"] * RAW["times"]
        sys.stdout.write(text + RAW["after"].replace("ID", str(message["id"])))
        sys.stdout.flush()
        continue
    body: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
    if result is None:
        body["error"] = {"code": -32601, "message": "unknown method"}
    else:
        body["result"] = result
    sys.stdout.write(json.dumps(body) + "\n")
    sys.stdout.flush()

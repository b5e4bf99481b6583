"""A minimal MCP server on pipes: ``echo_server TOOLS``; it does nothing but answer."""

from __future__ import annotations

import json
import sys

TOOLS = int(sys.argv[1])
PARAMETERS = {
    "type": "object",
    "properties": {f"argument_{n}": {"type": "string", "description": "x" * 60} for n in range(6)},
}


def main() -> None:
    """Answer until the input ends."""
    tools = [
        {"name": f"tool_{n}", "description": "d" * 200, "inputSchema": PARAMETERS}
        for n in range(TOOLS)
    ]
    answers = {
        "server/discover": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}},
        "tools/list": {"tools": tools},
        "tools/call": {"content": [{"type": "text", "text": "ok"}]},
    }
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            reply = {"jsonrpc": "2.0", "id": message["id"], "result": answers[message["method"]]}
            sys.stdout.write(json.dumps(reply) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()

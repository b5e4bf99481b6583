"""Ask a model and run its tool calls, with the standard library: ``tool_calls.py PORT MODEL``."""

import http.client
import json
import subprocess
import sys
from typing import Any

BASH = {"name": "bash", "parameters": {"type": "object", "properties": {"command": {}}}}


def main(port: str, model: str) -> None:
    """Send requests until the model calls no more tools."""
    connection = http.client.HTTPConnection("127.0.0.1", int(port))
    messages: list[Any] = [{"role": "user", "content": "go"}]
    while calls := ask(connection, model, messages):
        messages.append({"role": "assistant", "tool_calls": calls})
        for call in calls:
            command = json.loads(call["function"]["arguments"])["command"]
            done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": done.stdout})


def ask(connection: http.client.HTTPConnection, model: str, messages: list[Any]) -> list[Any]:
    """The tool calls of one answer."""
    tools = [{"type": "function", "function": BASH}]
    body = json.dumps({"model": model, "messages": messages, "tools": tools})
    connection.request("POST", "/v1/chat/completions", body)
    answer = json.loads(connection.getresponse().read())
    return list(answer["choices"][0]["message"].get("tool_calls") or [])


main(*sys.argv[1:])

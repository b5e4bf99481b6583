"""Print a streamed answer with the standard library alone: ``deltas_stdlib.py PORT MODEL``."""

import http.client
import json
import sys


def main(port: str, model: str) -> None:
    """Write each delta's text to standard output."""
    connection = http.client.HTTPConnection("127.0.0.1", int(port))
    messages = [{"role": "user", "content": "Say hello"}]
    body = json.dumps({"model": model, "stream": True, "messages": messages})
    connection.request("POST", "/v1/chat/completions", body)
    response = connection.getresponse()
    rest = b""
    while data := response.read1(65536):
        *events, rest = (rest + data).split(b"\n\n")
        for event in events:
            if event.startswith(b"data: {"):
                delta = json.loads(event[6:])["choices"][0]["delta"]
                sys.stdout.write(delta.get("content", ""))


main(*sys.argv[1:])

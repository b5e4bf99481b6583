"""Print a streamed answer with parsers written in C: ``deltas_parsers.py PORT MODEL``."""

import socket
import sys

import httptools
import msgspec


class Delta(msgspec.Struct):
    """The new text."""

    content: str = ""


class Choice(msgspec.Struct):
    """The only choice of a chunk."""

    delta: Delta


class Chunk(msgspec.Struct):
    """One event of the stream."""

    choices: list[Choice]


class Body:
    """Collects the body of the response, in pieces."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.on_body = self.parts.append  # the parser calls it


def main(port: str, model: str) -> None:
    """Write the text of each read to standard output."""
    messages = [{"role": "user", "content": "Say hello"}]
    request = msgspec.json.encode({"model": model, "stream": True, "messages": messages})
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: close\r\n"
        f"content-type: application/json\r\ncontent-length: {len(request)}\r\n\r\n"
    )
    body = Body()
    parser = httptools.HttpResponseParser(body)
    decoder = msgspec.json.Decoder(Chunk)
    with socket.create_connection(("127.0.0.1", int(port))) as connection:
        connection.sendall(head.encode() + request)
        while data := connection.recv(65536):
            parser.feed_data(data)
            *events, rest = b"".join(body.parts).split(b"\n\n")
            body.parts[:] = [rest]
            chunks = [decoder.decode(event[6:]) for event in events if event[6:7] == b"{"]
            sys.stdout.write("".join(chunk.choices[0].delta.content for chunk in chunks))


main(*sys.argv[1:])

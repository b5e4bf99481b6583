"""Ask the mock server and read the answer with a plain socket: ``request_socket.py PORT MODEL``."""

import socket
import sys


def main(port: str, model: str) -> None:
    """Send one request; read until the server closes."""
    message = '{"role": "user", "content": "Say hello"}'
    body = f'{{"model": "{model}", "stream": true, "messages": [{message}]}}'
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: close\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", int(port))) as connection:
        connection.sendall((head + body).encode())
        while connection.recv(65536):
            pass


main(*sys.argv[1:])

"""Ask the mock server and read the answer with asyncio: ``request_asyncio.py PORT MODEL``."""

import asyncio
import sys


async def main(port: str, model: str) -> None:
    """Send one request; read until the server closes."""
    message = '{"role": "user", "content": "Say hello"}'
    body = f'{{"model": "{model}", "stream": true, "messages": [{message}]}}'
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: close\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    reader, writer = await asyncio.open_connection("127.0.0.1", int(port))
    writer.write((head + body).encode())
    while await reader.read(65536):
        pass
    writer.close()


asyncio.run(main(*sys.argv[1:]))

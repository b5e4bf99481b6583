"""HTTP/1.1 client for the model wires, on asyncio and llhttp.

Streams, keep-alive, proxies, TLS with private authorities, three separate timeouts. Independent of
models, providers and server-sent events; reads no environment variables itself.
"""

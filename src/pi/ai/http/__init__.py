"""HTTP/1.1 client for the model wires, on asyncio and llhttp.

Streams, keep-alive, proxies, TLS with private authorities, three separate timeouts. Knows nothing
of models, providers or server-sent events, and reads no environment variables itself.
"""

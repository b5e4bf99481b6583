"""HTTP/1.1 as the model wires need it: one thin client on asyncio and llhttp.

Streams, keep-alive, proxies, TLS with private authorities, three separate timeouts. Knows nothing
of models, providers or server-sent events, and reads no environment of its own.
"""

"""Other programs use the models of pi through one local address.

``server`` is the HTTP server, with the server-side codecs of the wires; ``adapter`` has the
words of ``pi auth-gateway``.
"""

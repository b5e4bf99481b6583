"""Other programs use the models of pi through one local address.

``formats`` connects the server-side codecs of the wires, and encodes errors for each of them;
``server`` is the HTTP server; ``commands`` are the words of ``pi auth-gateway``.
"""

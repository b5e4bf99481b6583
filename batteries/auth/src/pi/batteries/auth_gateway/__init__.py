"""Serves the models of pi to other programs at one local address.

``server`` is the HTTP server, with the server-side codecs of the wires; ``adapter`` has the
subcommands of ``pi auth-gateway``.
"""

"""Authentication: the credential store, API keys, logins, and the headers of a request.

``storage`` keeps credentials, ``resolve`` finds the one to use, ``refresh`` renews it, ``sign_in``
gets a new one. Knows providers only as rows of data, and nothing of wires or screens.
"""
